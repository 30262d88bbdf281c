//! What was read of a domain.

use super::account::{Account, Computer};
use super::group::DirectoryGroup;
use super::message::Entry;
use super::policy::{DomainPolicy, PasswordSettings};
use super::session::Found;
use crate::connect::reading::{Stream, StreamState};
use crate::text::line;

const DOMAIN_CHARS_MAX: usize = 253;

/// The streams of a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamName {
    Users,
    /// The groups with all rights, and those in them.
    Groups,
    Computers,
    /// What the domain says of passwords and of who may add computers.
    Policy,
    /// Fine-grained password policies.
    PasswordSettings,
}

impl StreamName {
    pub const ALL: [Self; 5] =
        [Self::Users, Self::Groups, Self::Computers, Self::Policy, Self::PasswordSettings];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Users => "users",
            Self::Groups => "groups",
            Self::Computers => "computers",
            Self::Policy => "policy",
            Self::PasswordSettings => "password_settings",
        }
    }
}

/// What was read of a domain. What was not read completely is `None`, and its stream says why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directory {
    /// Such as `acme.test`. Empty if it is not known.
    pub domain: String,
    /// Accounts of people and services, disabled ones too.
    pub users: Option<Vec<Account>>,
    pub groups: Option<Vec<DirectoryGroup>>,
    pub computers: Option<Vec<Computer>>,
    pub policy: Option<DomainPolicy>,
    pub password_settings: Option<Vec<PasswordSettings>>,
    /// One of each name.
    pub streams: Vec<Stream>,
}

impl Directory {
    pub(super) fn new(base: &str) -> Self {
        let labels = base.split(',').filter_map(|it| it.trim().get(3..));
        let domain = line(&labels.collect::<Vec<_>>().join(".").to_lowercase(), DOMAIN_CHARS_MAX);
        Self { domain, ..Self::default() }
    }

    /// Returns true if this was read completely.
    pub(super) const fn has(&self, name: StreamName) -> bool {
        match name {
            StreamName::Users => self.users.is_some(),
            StreamName::Groups => self.groups.is_some(),
            StreamName::Computers => self.computers.is_some(),
            StreamName::Policy => self.policy.is_some(),
            StreamName::PasswordSettings => self.password_settings.is_some(),
        }
    }

    /// Nothing was read, for one reason.
    pub(super) fn unread(why: &str) -> Self {
        let stream = |it: StreamName| Stream {
            name: it.as_str().to_owned(),
            state: StreamState::Failed,
            reason: why.to_owned(),
            n_rows: 0,
        };
        Self { streams: StreamName::ALL.map(stream).to_vec(), ..Self::default() }
    }

    /// Turns rows into values, and adds the stream. `None`: they are not all that there is.
    ///
    /// `parse`: the error is the attribute that a row lacks. `doubt`: tells by what is read that something is missing.
    pub(super) fn take<T>(
        &mut self,
        name: StreamName,
        mut found: Found,
        parse: impl Fn(&Entry) -> Result<T, &'static str>,
        doubt: impl FnOnce(&mut Found, &[T]),
    ) -> Option<Vec<T>> {
        let n_rows = found.rows.len();
        let (mut values, mut lacking) = (Vec::with_capacity(n_rows), Vec::new());
        for row in std::mem::take(&mut found.rows) {
            match parse(&row) {
                Ok(value) => values.push(value),
                Err(attribute) => lacking.push(attribute),
            }
        }
        if let Some(attribute) = lacking.first() {
            let n = lacking.len();
            found.less(format!(
                "{attribute} of {n} of {n_rows} objects is missing; let the account read it"
            ));
        }
        doubt(&mut found, &values);
        self.streams.push(Stream {
            name: name.as_str().to_owned(),
            state: found.state,
            reason: found.reason.clone(),
            n_rows: n_rows as u64,
        });
        found.is_complete().then_some(values)
    }
}
