//! What an ID token says of a person.

use serde_json::{Map, Value};

use super::date::NumericDate;

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

    /// When the person last proved to be there, and not later. Seconds since 1970.
    #[must_use]
    pub fn auth_time_s(&self) -> Option<i64> {
        NumericDate::of(&self.all, "auth_time").map(|it| it.floor_s)
    }

    /// Returns true unless the provider says that nobody verified the email address.
    #[must_use]
    pub fn has_good_email(&self) -> bool {
        match self.all.get("email_verified") {
            None => true,
            Some(it) => it.as_bool() == Some(true) || it.as_str() == Some("true"),
        }
    }

    /// The texts of a claim, which has one or a list; of an object they are the keys, as Zitadel names roles. A dot in the
    /// name leads into an object.
    #[must_use]
    pub fn values(&self, name: &str) -> Vec<&str> {
        match find(&self.all, name) {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(all)) => all.iter().flat_map(texts).collect(),
            Some(Value::Object(all)) => keys(all).collect(),
            Some(Value::Null | Value::Bool(_) | Value::Number(_)) | None => Vec::new(),
        }
    }
}

/// Names may have dots themselves, such as a client id: at each step the longest name that exists counts first.
fn find<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let below = |(at, _)| find(object.get(&name[..at])?.as_object()?, &name[at + 1..]);
    object.get(name).or_else(|| name.rmatch_indices('.').find_map(below))
}

/// Of one value of a list.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(one) => vec![one],
        Value::Object(all) => keys(all).collect(),
        Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// The keys with something in them: `{"posture-admin": false}` grants nothing.
fn keys(object: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let is_empty = |it: &Value| match it {
        Value::Null | Value::Bool(false) => true,
        Value::Object(all) => all.is_empty(),
        Value::Array(all) => all.is_empty(),
        Value::Bool(true) | Value::Number(_) | Value::String(_) => false,
    };
    object.iter().filter(move |it| !is_empty(it.1)).map(|it| it.0.as_str())
}
