//! What is asked of the DNS and what it answers, and the sheet on which rules look answers up.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Only the kinds that rules ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecordKind {
    A,
    Aaaa,
    Caa,
    Dnskey,
    Ds,
    Mx,
    Txt,
}

impl RecordKind {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::Aaaa => "AAAA",
            Self::Caa => "CAA",
            Self::Dnskey => "DNSKEY",
            Self::Ds => "DS",
            Self::Mx => "MX",
            Self::Txt => "TXT",
        }
    }
}

/// Records of one kind at one name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Query {
    pub kind: RecordKind,
    /// In lower case, without a trailing dot.
    pub name: String,
}

impl Query {
    #[must_use]
    pub fn new(kind: RecordKind, name: &str) -> Self {
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        Self { kind, name }
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.as_str(), self.name)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// At least one, as a zone file writes it. The strings of a TXT record are joined; an MX record is `10 mx.example.com`, or
    /// `0 .` for no mail.
    Records(Vec<String>),
    /// The name exists and has no record of the kind.
    NoData,
    /// The name does not exist.
    NoName,
    /// Nothing is known: no answer, or an error. The text says which.
    Failed(String),
}

/// What is known so far.
pub type Answers = BTreeMap<Query, Answer>;

/// Why a rule cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Halt {
    /// The sheet knows what has to be asked first.
    Unasked,
    /// The text names the query.
    Failed(String),
}

/// The answers known so far, and a list of what rules looked for in vain.
pub(super) struct Sheet<'a> {
    answers: &'a Answers,
    unasked: RefCell<BTreeSet<Query>>,
}

impl<'a> Sheet<'a> {
    pub(super) fn new(answers: &'a Answers) -> Self {
        Self { answers, unasked: RefCell::default() }
    }

    /// The records, and none if there are none.
    pub(super) fn look(&self, kind: RecordKind, name: &str) -> Result<&'a [String], Halt> {
        match self.find(kind, name) {
            None => Err(Halt::Unasked),
            Some(Answer::Records(records)) => Ok(records),
            Some(Answer::NoData | Answer::NoName) => Ok(&[]),
            Some(Answer::Failed(why)) => {
                let query = Query::new(kind, name);
                Err(Halt::Failed(format!("the query {query} failed: {why}")))
            }
        }
    }

    /// `None` if it is not asked yet: it then will be.
    pub(super) fn find(&self, kind: RecordKind, name: &str) -> Option<&'a Answer> {
        let query = Query::new(kind, name);
        let found = self.answers.get(&query);
        if found.is_none() {
            self.unasked.borrow_mut().insert(query);
        }
        found
    }

    /// What has to be asked before all rules can go on.
    pub(super) fn into_unasked(self) -> BTreeSet<Query> {
        self.unasked.into_inner()
    }
}
