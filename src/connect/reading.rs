//! What was read of a client's environment, and what it says of controls.

/// What was read of a client's environment: one group for each part that can be read on its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    pub groups: Vec<Group>,
}

/// Facts that come from the same streams. They are taken together or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The part of the environment: of the DNS, the domain as ASCII in lower case.
    pub scope: String,
    pub streams: Vec<Stream>,
    /// A stream that was not read completely has none.
    pub observations: Vec<Judged>,
    /// Facts worth showing that decide nothing: a name and a text.
    pub notes: Vec<(String, String)>,
}

/// One collection that was read: a kind of record, an API list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    pub name: String,
    pub state: StreamState,
    /// What was not read and why, as a sentence without a full stop. Empty if the stream is complete.
    pub reason: String,
    pub n_rows: u64,
}

/// How much of a stream was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamState {
    Complete,
    /// Some of it, so that nothing is judged by what is missing.
    Partial,
    /// The credential lacks a permission.
    Denied,
    /// The client has no license for it.
    Unlicensed,
    Failed,
}

impl StreamState {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Partial => "partial",
            Self::Denied => "denied",
            Self::Unlicensed => "unlicensed",
            Self::Failed => "failed",
        }
    }
}

/// What the facts say of a control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The code of the control.
    pub control: &'static str,
    /// Which of the connector's checks it is.
    pub check: String,
    pub status: JudgedStatus,
    /// What was found and what to do, in plain English. At most 1,000 characters.
    pub findings: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JudgedStatus {
    Compliant,
    Partial,
    NonCompliant,
    NotApplicable,
}
