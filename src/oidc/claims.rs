//! What an ID token says of a person.

use serde_json::{Map, Value};

/// The claims of a token that proved to be genuine.
#[derive(Clone, Debug)]
pub struct Claims {
    all: Map<String, Value>,
    subject: String,
}

/// RFC 7519 has no limit; OpenID Connect says 255 ASCII characters.
const SUBJECT_CHARS_MAX: usize = 255;

impl Claims {
    /// `None`: they name nobody.
    pub(super) fn of(all: Map<String, Value>) -> Option<Self> {
        let subject = all.get("sub")?.as_str()?.to_owned();
        let fits = !subject.is_empty() && subject.chars().count() <= SUBJECT_CHARS_MAX;
        fits.then_some(Self { all, subject })
    }

    /// Who it is, for this issuer and for ever.
    #[must_use]
    pub fn subject(&self) -> &str {
        &self.subject
    }

    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.all.get(name)?.as_str()
    }

    /// When the person last proved to be there. Seconds since 1970.
    #[must_use]
    pub fn auth_time_s(&self) -> Option<i64> {
        self.all.get("auth_time")?.as_i64()
    }

    /// Returns true unless the provider says that nobody verified the email address.
    #[must_use]
    pub fn has_good_email(&self) -> bool {
        match self.all.get("email_verified") {
            None => true,
            Some(it) => it.as_bool() == Some(true) || it.as_str() == Some("true"),
        }
    }

    /// The texts of a claim, which has one or a list. A dot in the name leads into an object, unless a claim has that name.
    #[must_use]
    pub fn values(&self, name: &str) -> Vec<&str> {
        let nested = || {
            let (first, rest) = name.split_once('.')?;
            rest.split('.').try_fold(self.all.get(first)?, |it, part| it.get(part))
        };
        match self.all.get(name).or_else(nested) {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {
                Vec::new()
            }
        }
    }
}
