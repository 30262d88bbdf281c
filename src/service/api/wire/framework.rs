//! Frameworks as requests and answers name them, other than the contract's alone.

use std::borrow::Cow;

use serde::{Serialize, Serializer};

use super::input::{TextOf, Words};
use super::view::{Word, wire_type};
use crate::engine::framework::FrameworkId;
use crate::error::{Error, Result};
use crate::store::global::webhook::FrameworkChoice;

/// The identifier of any framework.
#[derive(Clone, Copy, Debug)]
pub struct FrameworkName(pub FrameworkId);
wire_type!(named FrameworkName, "FrameworkName", {
    "type": "string",
    "description":
        "The identifier of a framework of the contract, of another that this release carries, or of one that the managed \
         service provider added. `GET /api/frameworks` lists all. Requests may spell it in upper or lower case.",
    "pattern": "^[A-Za-z][A-Za-z0-9_]{1,31}$",
    "example": "CIS_V8",
});

impl Serialize for FrameworkName {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.as_str())
    }
}

impl Word for FrameworkName {
    fn read(text: &str) -> Option<Self> {
        text.parse().ok().map(Self)
    }

    fn rule() -> String {
        "must be a framework identifier that GET /api/frameworks lists".to_owned()
    }
}

const CONTRACT: &str = "contract";
const ALL: &str = "all";

/// A framework, or a word for many.
#[derive(Clone, Copy, Debug)]
pub enum FrameworkWord {
    Contract,
    All,
    One(FrameworkId),
}
wire_type!(named FrameworkWord, "FrameworkChoice", {
    "type": "string",
    "description": "`contract`, `all`, or the identifier of a framework.",
    "pattern": "^[A-Za-z][A-Za-z0-9_]{1,31}$",
    "example": CONTRACT,
});

impl Word for FrameworkWord {
    fn read(text: &str) -> Option<Self> {
        match text {
            CONTRACT => Some(Self::Contract),
            ALL => Some(Self::All),
            id => FrameworkName::read(id).map(|it| Self::One(it.0)),
        }
    }

    fn rule() -> String {
        "must be contract, all, or framework identifiers that GET /api/frameworks lists".to_owned()
    }
}

impl FrameworkWord {
    /// As a webhook shows its subscription.
    pub fn all_of(choice: &FrameworkChoice) -> Vec<TextOf<Self>> {
        match choice {
            FrameworkChoice::Contract => vec![TextOf::of(CONTRACT)],
            FrameworkChoice::All => vec![TextOf::of(ALL)],
            FrameworkChoice::These(ids) => ids.iter().map(|it| TextOf::of(it.as_str())).collect(),
        }
    }

    /// # Errors
    /// `Invalid` if a word for many is not alone.
    pub fn choice(words: &Words<Self>) -> Result<FrameworkChoice> {
        match words.0.as_slice() {
            [] => Err(Error::invalid_field("frameworks", "must name at least one framework")),
            [Self::Contract] => Ok(FrameworkChoice::Contract),
            [Self::All] => Ok(FrameworkChoice::All),
            all => {
                let id = |it: &Self| match it {
                    Self::One(id) => Some(*id),
                    Self::Contract | Self::All => None,
                };
                let ids = all.iter().map(id).collect::<Option<Vec<_>>>();
                let rule = "must not name frameworks besides `contract` or `all`";
                let mut ids = ids.ok_or_else(|| Error::invalid_field("frameworks", rule))?;
                ids.sort_unstable();
                ids.dedup();
                Ok(FrameworkChoice::These(ids))
            }
        }
    }
}
