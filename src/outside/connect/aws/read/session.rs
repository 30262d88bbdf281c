//! A session in an account: a role that was assumed, or the key itself.

use std::collections::BTreeSet;
use std::fmt::Debug;

use xxhash_rust::xxh3::xxh3_64;

use super::request::{Ask, HOME};
use crate::connect::aws::answer::{NextPage, caller_account, next_page, session};
use crate::connect::aws::config::AwsConfig;
use crate::connect::aws::refusal::{DIALECT, Refusal, explain_key};
use crate::connect::aws::sign::Credentials;
use crate::connect::call::{Answer, Api, Auth, Unread, explain_clock, said};
use crate::encoding;

const STS_VERSION: &str = "2011-06-15";
/// As the client's log of requests shows it.
const SESSION_NAME: &str = "posture";
/// More pages are not read.
const N_PAGES_MAX: usize = 1_000;
/// More rows are not read.
const N_ROWS_MAX: usize = 200_000;

pub(super) struct Session<'a> {
    pub(super) api: &'a Api,
    pub(super) config: &'a AwsConfig,
    credentials: Credentials,
}

impl<'a> Session<'a> {
    /// # Errors
    /// Why nothing can be read: the key, the role, or another account than the one that is meant.
    pub(super) async fn open(api: &'a Api, config: &'a AwsConfig) -> Result<Self, Unread> {
        let mut session = Self { api, config, credentials: config.key.clone() };
        if config.role_arn.is_some() {
            session.assume().await?;
        }
        let ask = Ask::query("sts", HOME, "GetCallerIdentity", STS_VERSION);
        let answer = session.send(&ask).await?;
        let text = session.signed_in(&answer, &ask)?;
        let Some(account) = caller_account(&text) else { return Err(unreadable(&ask)) };
        if account != config.account {
            return Err(Unread::credential(format!(
                "the access key belongs to the account {account}, not to {}; check account_id and role_arn",
                config.account
            )));
        }
        Ok(session)
    }

    /// Begins another session of the role.
    async fn assume(&mut self) -> Result<(), Unread> {
        let Some(role_arn) = &self.config.role_arn else { return Ok(()) };
        let ask = Ask::query("sts", HOME, "AssumeRole", STS_VERSION)
            .with("RoleArn", role_arn)
            .with("RoleSessionName", SESSION_NAME)
            .with("ExternalId", &self.config.external_id);
        self.credentials = self.config.key.clone();
        let answer = self.send(&ask).await?;
        let refusal = Refusal::of(&answer);
        if refusal.is_denied() {
            let external_id = &self.config.external_id;
            return Err(Unread::consent(format!(
                "AWS does not let the access key use {role_arn}; create the role with this name, let its trust policy allow the user of \
                 the key with the ExternalId {external_id}, and allow that user sts:AssumeRole on the role{}",
                said(&refusal.message)
            )));
        }
        let text = self.signed_in(&answer, &ask)?;
        self.credentials = session(&text).ok_or_else(|| unreadable(&ask))?;
        Ok(())
    }

    /// The text of an answer that tells whether the key is good.
    fn signed_in(&self, answer: &Answer, ask: &Ask) -> Result<String, Unread> {
        if (200..300).contains(&answer.status) {
            return text(answer, ask);
        }
        let unread = explain_key(&Refusal::of(answer));
        let unread = unread.unwrap_or_else(|| (DIALECT.explain)(answer, ask.action()));
        Err(explain_clock(unread, answer, self.api.now()))
    }

    async fn send(&self, ask: &Ask) -> Result<Answer, Unread> {
        let credentials = &self.credentials;
        let sign = |call: &mut _, at| ask.sign(call, credentials, at);
        self.api.ask(&ask.call(), &Auth::Signed(&sign)).await
    }

    /// Returns an answer with any status. A session that has expired is begun anew, once.
    pub(super) async fn ask(&mut self, ask: &Ask) -> Result<Answer, Unread> {
        let answer = self.send(ask).await?;
        if !Refusal::of(&answer).is_expired() || self.config.role_arn.is_none() {
            return Ok(answer);
        }
        self.assume().await?;
        self.send(ask).await
    }

    /// Returns the text of a success.
    pub(super) async fn call(&mut self, ask: &Ask) -> Result<String, Unread> {
        let answer = self.ask(ask).await?;
        self.success(&answer, ask)
    }

    /// The text of an answer, if it is a success.
    pub(super) fn success(&self, answer: &Answer, ask: &Ask) -> Result<String, Unread> {
        if (200..300).contains(&answer.status) {
            return text(answer, ask);
        }
        let unread = (DIALECT.explain)(answer, ask.action());
        Err(explain_clock(unread, answer, self.api.now()))
    }

    /// Reads what one answer says.
    pub(super) async fn one<T>(
        &mut self,
        ask: &Ask,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<T, Unread> {
        parse(&self.call(ask).await?).ok_or_else(|| unreadable(ask))
    }

    /// Reads all pages of a list. Two of them must not have the same rows.
    pub(super) async fn all<T: Debug>(
        &mut self,
        first: &Ask,
        pages: &Pages,
        parse: impl Fn(&str) -> Option<Vec<T>>,
    ) -> Result<Vec<T>, Unread> {
        let (mut ask, mut rows) = (first.clone(), Vec::new());
        let (mut seen, mut tokens) = (BTreeSet::new(), BTreeSet::new());
        let action = first.action();
        // The list may have no end.
        let beyond =
            |limit: &str| Unread::failed(format!("{action}: more than {limit} are not read"));
        for _ in 0..N_PAGES_MAX {
            let text = self.call(&ask).await?;
            let found = parse(&text).ok_or_else(|| unreadable(&ask))?;
            let next = next_page(&text, &pages.next).ok_or_else(|| unreadable(&ask))?;
            let mark = xxh3_64(format!("{found:?}").as_bytes());
            let is_new = found.is_empty() || seen.insert(mark);
            if !is_new || !tokens.insert(next.clone()) {
                let reason = format!("{action}: AWS sent the same page twice");
                return Err(Unread::failed(reason));
            }
            rows.extend(found);
            if N_ROWS_MAX < rows.len() {
                return Err(beyond(&format!("{N_ROWS_MAX} rows")));
            }
            if next.is_empty() {
                return Ok(rows);
            }
            ask = ask.with(pages.parameter, next);
        }
        Err(beyond(&format!("{N_PAGES_MAX} pages")))
    }
}

/// How the next page is found.
pub(super) struct Pages {
    pub(super) next: NextPage,
    pub(super) parameter: &'static str,
}

fn text(answer: &Answer, ask: &Ask) -> Result<String, Unread> {
    encoding::text(&answer.body).map(str::to_owned).map_err(|_| unreadable(ask))
}

pub(super) fn unreadable(ask: &Ask) -> Unread {
    Unread::failed(format!("the answer to {} is not in the form that AWS documents", ask.action()))
}
