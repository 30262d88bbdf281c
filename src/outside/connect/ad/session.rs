//! One connection to a domain controller: a sign-in, then searches one after the other.

use std::collections::BTreeSet;

use super::ber::{Malformed, SEQUENCE, header};
use super::filter::Filter;
use super::message::{
    Answer, AnswerBody, Depth, Entry, Outcome, Search, bind, decode, search, unbind,
};
use super::refusal::{NO_SUCH_OBJECT, SUCCESS, explain};
use crate::connect::reading::StreamState;
use crate::egress::TlsStream;

/// Servers of Microsoft allow 1,000 in a page.
const PAGE_ROWS: i32 = 500;
/// More rows of one search are refused.
const N_ROWS_MAX: usize = 100_000;
/// More values of one attribute are refused.
const N_VALUES_MAX: usize = 100_000;
/// More messages that are no rows are refused in the answer to one request.
const N_REFERENCES_MAX: usize = 1_000;
/// Pages without a row that may follow each other.
const N_EMPTY_PAGES_MAX: usize = 20;

pub(super) struct Session {
    stream: TlsStream,
    last_id: i32,
    /// Why nothing more can be read.
    over: Option<String>,
}

/// The rows of a search, as far as they were read.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) rows: Vec<Entry>,
    pub(super) state: StreamState,
    /// Empty if the state is complete.
    pub(super) reason: String,
    /// The object of the search is not there, or the account may not see it.
    pub(super) is_hidden: bool,
}

impl Found {
    fn of(rows: Vec<Entry>, state: StreamState, reason: String) -> Self {
        Self { rows, state, reason, is_hidden: false }
    }

    pub(super) fn is_complete(&self) -> bool {
        self.state == StreamState::Complete
    }

    /// What was read is not all that there is.
    pub(super) fn less(&mut self, reason: String) {
        self.less_as(StreamState::Partial, reason);
    }

    /// The first reason is kept.
    pub(super) fn less_as(&mut self, state: StreamState, reason: String) {
        if self.is_complete() {
            self.state = state;
            self.reason = reason;
        }
    }
}

impl Session {
    /// # Errors
    /// The reason, as a sentence without a full stop.
    pub(super) async fn sign_in(
        stream: TlsStream,
        user: &str,
        password: &str,
    ) -> Result<Self, String> {
        let mut session = Self { stream, last_id: 0, over: None };
        let id = session.next_id();
        session.send(&bind(id, user, password)).await?;
        let answer = session.answer(id).await?;
        let AnswerBody::Bound(outcome) = answer.body else {
            return Err("the server does not answer the sign-in".to_owned());
        };
        if outcome.code == SUCCESS { Ok(session) } else { Err(explain(&outcome).1) }
    }

    /// Says goodbye. What the server makes of it does not matter.
    pub(super) async fn end(mut self) {
        if self.over.is_none() {
            let id = self.next_id();
            drop(self.send(&unbind(id)).await);
        }
    }

    /// Reads an object. Without one, the result is not complete.
    pub(super) async fn object(&mut self, name: &str, attributes: &[&str]) -> Found {
        let filter = Filter::Present("objectClass");
        let mut found =
            self.all(&Search { base: name, depth: Depth::Base, filter, attributes }).await;
        if found.is_complete() && found.rows.len() != 1 {
            found.less("the object does not exist, or the account may not see it".to_owned());
            found.is_hidden = true;
        }
        found
    }

    /// Reads all pages.
    pub(super) async fn all(&mut self, of: &Search<'_>) -> Found {
        if let Some(why) = &self.over {
            return Found::of(Vec::new(), StreamState::Failed, why.clone());
        }
        let mut rows = Vec::new();
        match self.pages(of, &mut rows).await {
            Ok(outcome) if outcome.code == SUCCESS => {
                Found::of(rows, StreamState::Complete, String::new())
            }
            Ok(outcome) => {
                let (state, reason) = explain(&outcome);
                let is_hidden = outcome.code == NO_SUCH_OBJECT;
                Found { is_hidden, ..Found::of(rows, state, reason) }
            }
            Err(why) => {
                self.over = Some(why.clone());
                Found::of(rows, StreamState::Failed, why)
            }
        }
    }

    async fn pages(&mut self, of: &Search<'_>, rows: &mut Vec<Entry>) -> Result<Outcome, String> {
        let (mut cookie, mut names, mut n_empty) = (Vec::new(), BTreeSet::new(), 0);
        loop {
            let n_before = rows.len();
            let id = self.next_id();
            self.send(&search(id, of, PAGE_ROWS, &cookie)).await?;
            let (outcome, next) = self.page(id, rows).await?;
            // A cookie may stay the same from page to page, so what tells a page that repeats is its rows.
            if !rows[n_before..].iter().all(|it| names.insert(it.dn.clone())) {
                return Err("the server sends the same rows again".to_owned());
            }
            let next = next.unwrap_or_default();
            if outcome.code != SUCCESS || next.is_empty() {
                return Ok(outcome);
            }
            n_empty = if rows.len() == n_before { n_empty + 1 } else { 0 };
            if n_empty == N_EMPTY_PAGES_MAX || 0 < n_empty && next == cookie {
                return Err("the server sends empty pages without an end".to_owned());
            }
            cookie = next;
        }
    }

    /// Reads the answer to one search request.
    async fn page(
        &mut self,
        id: i32,
        rows: &mut Vec<Entry>,
    ) -> Result<(Outcome, Option<Vec<u8>>), String> {
        let mut n_references = 0;
        loop {
            let Answer { body, cookie, .. } = self.answer(id).await?;
            match body {
                AnswerBody::Entry(_) if rows.len() == N_ROWS_MAX => {
                    return Err(format!("the server sends more than {N_ROWS_MAX} rows"));
                }
                AnswerBody::Entry(entry) => rows.push(entry),
                // To other parts of the forest, with every search of a whole domain.
                AnswerBody::Reference if n_references < N_REFERENCES_MAX => n_references += 1,
                AnswerBody::Done(outcome) => return Ok((outcome, cookie)),
                AnswerBody::Reference | AnswerBody::Bound(_) | AnswerBody::Notice(_) => {
                    return Err("the server does not answer the search".to_owned());
                }
            }
        }
    }

    /// Completes an attribute of which the server sent only the first values, such as `member;range=0-1499`.
    ///
    /// # Errors
    /// The reason why not all values were read.
    pub(super) async fn complete(
        &mut self,
        entry: &mut Entry,
        attribute: &str,
    ) -> Result<(), String> {
        let mut values = entry.attributes.remove(attribute).unwrap_or_default();
        let Some(mut range) = take_range(entry, attribute) else {
            entry.attributes.insert(attribute.to_owned(), values);
            return Ok(());
        };
        loop {
            let n_before = values.len();
            let (first, is_last, more) = range;
            values.extend(more);
            if first != n_before || N_VALUES_MAX < values.len() {
                return Err(format!("the values of {attribute} do not follow each other"));
            }
            if is_last {
                entry.attributes.insert(attribute.to_owned(), values);
                return Ok(());
            }
            if values.len() == n_before {
                return Err(format!("the values of {attribute} have no end"));
            }
            let asked = format!("{attribute};range={}-*", values.len());
            let found = self.object(&entry.dn, &[&asked]).await;
            if !found.is_complete() {
                return Err(found.reason);
            }
            let mut rows = found.rows;
            let next = rows.first_mut().and_then(|it| take_range(it, attribute));
            range = next.ok_or_else(|| format!("the values of {attribute} break off"))?;
        }
    }

    fn next_id(&mut self) -> i32 {
        self.last_id += 1;
        self.last_id
    }

    async fn send(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.stream.write_all(bytes).await.map_err(|error| error.message().to_owned())
    }

    /// Reads the next message, which must be about this request.
    async fn answer(&mut self, id: i32) -> Result<Answer, String> {
        let unreadable = |why| format!("the answer of the server is not valid LDAP ({why})");
        let mut bytes = vec![0; 2];
        self.read(&mut bytes).await?;
        if bytes[0] != SEQUENCE {
            return Err(unreadable(Malformed("it does not begin as a message")));
        }
        let (n_header, n_content) = loop {
            if let Some(known) = header(&bytes).map_err(unreadable)? {
                break known;
            }
            let mut byte = [0];
            self.read(&mut byte).await?;
            bytes.extend(byte);
        };
        bytes.resize(n_header + n_content, 0);
        self.read(&mut bytes[n_header..]).await?;
        let answer = decode(&bytes).map_err(unreadable)?;
        if let AnswerBody::Notice(outcome) = &answer.body {
            return Err(format!("the server ends the connection: {}", explain(outcome).1));
        }
        if answer.id != id {
            return Err("the server answers a request that was not made".to_owned());
        }
        Ok(answer)
    }

    async fn read(&mut self, bytes: &mut [u8]) -> Result<(), String> {
        self.stream.read_exact(bytes).await.map_err(|error| error.message().to_owned())
    }
}

/// The index of the first value, whether the values are the last, and the values.
type Range = (usize, bool, Vec<Vec<u8>>);

fn take_range(entry: &mut Entry, attribute: &str) -> Option<Range> {
    let prefix = format!("{attribute};range=");
    let name = entry.attributes.keys().find(|it| it.starts_with(&prefix))?.clone();
    let (first, last) = name[prefix.len()..].split_once('-')?;
    let first = first.parse().ok()?;
    let values = entry.attributes.remove(&name)?;
    Some((first, last == "*", values))
}
