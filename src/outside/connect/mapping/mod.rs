//! Vendors that are declared, not programmed: how a tool is read, and how its rows become devices.
//!
//! A mapping is one TOML file. What it can say is a closed list: there are no expressions, so that reading less or something else
//! than expected gives unknown facts and a count of what was not understood, and never a verdict.

mod apply;
mod call;
mod example;
mod field;
mod plan;
mod read;
mod reading;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use serde_json::Value;

use self::field::Condition;
use self::plan::{DeviceMap, OrganizationMap, UserMap};
use super::device::{Device, Fact, ToolUser};

pub use self::apply::apply;
pub use self::call::{DIALECT, Entered, ORIGIN, REGION, read_tool};
pub use self::example::{Report, check};
pub use self::field::Pointer;
pub use self::read::read;

/// A longer file is refused. It is one record of the database.
pub const FILE_BYTES_MAX: usize = 240 * 1024;
pub const N_STREAMS_MAX: usize = 32;
pub const N_EXAMPLES_MAX: usize = 32;

macro_rules! embed {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!("../../../../assets/connect/", $name)))),+]
    };
}

/// Name and text of every mapping that this release carries.
pub const FILES: [(&str, &str); 4] =
    embed!("ninjaone.toml", "datto.toml", "tactical.toml", "huntress.toml");

/// The mapping that shows how one is written.
pub const EXAMPLE: &str = include_str!("../../../../assets/connect/example.toml");

static EMBEDDED: LazyLock<Vec<Arc<Mapping>>> = LazyLock::new(|| {
    let read = |(name, text)| read(name, text).expect("a test reads every mapping of this release");
    FILES.into_iter().map(|it| Arc::new(read(it))).collect()
});

/// The mappings that this release carries.
#[must_use]
pub fn embedded() -> &'static [Arc<Mapping>] {
    &EMBEDDED
}

/// One vendor: how its tool is read, and what its rows mean.
#[derive(Clone, Debug)]
pub struct Mapping {
    /// The word for it: lower-case letters, digits and `_`.
    pub kind: String,
    pub title: String,
    pub proof: Proof,
    pub base: Base,
    pub auth: Auth,
    /// What the operator enters, in this order: what [`Auth::fields`] names.
    pub inputs: Vec<Input>,
    pub pace: Pace,
    pub streams: Vec<Stream>,
    organizations: Option<OrganizationMap>,
    devices: DeviceMap,
    users: Option<UserMap>,
}

/// What the examples of a mapping were made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Answers of a real system.
    Recorded,
    /// What the vendor wrote. No real answer was seen: the mapping is unproven.
    Specification,
}

impl Proof {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Specification => "specification",
        }
    }
}

/// Where the tool is. Credentials are sent nowhere else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Base {
    /// One of these regions, each with its name and its origin, such as `https://eu.example.com`.
    Regions(Vec<(String, String)>),
    /// The operator's own server, whose origin is entered. The text helps with that.
    Own { help: String },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Auth {
    /// `grant_type=client_credentials`, with id and secret in the body.
    OauthClientCredentials { token_path: String, scope: Option<String> },
    /// `grant_type=password`. The client is the same for everyone, and no secret.
    OauthPassword { token_path: String, client_id: String, client_secret: String },
    /// The key in a header of this name.
    Header { name: String },
    /// Username and password.
    Basic,
}

impl Auth {
    /// What the operator must enter, each with whether it is a secret.
    #[must_use]
    pub const fn fields(&self) -> &'static [(&'static str, bool)] {
        match self {
            Self::OauthClientCredentials { .. } => &[("client_id", false), ("client_secret", true)],
            Self::OauthPassword { .. } | Self::Basic => &[("username", false), ("password", true)],
            Self::Header { .. } => &[("key", true)],
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// One of [`Auth::fields`].
    pub name: String,
    /// What the vendor calls it.
    pub title: String,
    pub help: String,
    pub is_secret: bool,
}

/// At most so many requests in so many seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    pub n_requests: u32,
    pub per_s: u32,
}

/// One list of the tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    pub name: String,
    /// Below the origin. It begins with `/` and has no query.
    pub path: String,
    pub query: Vec<(String, String)>,
    /// Only what is newer is asked for.
    pub window: Option<Window>,
    /// What the credential must be allowed to, in the vendor's words.
    pub permission: String,
    pub pager: Pager,
    pub page_size: Option<PageSize>,
    /// Without it nothing is judged.
    pub is_required: bool,
    rows: Pointer,
    skip_if: Vec<Condition>,
}

impl Stream {
    /// The rows of an answer. `None`: it has no list where the mapping says.
    #[must_use]
    pub fn rows_of<'v>(&self, answer: &'v Value) -> Option<&'v [Value]> {
        self.rows.find(answer)?.as_array().map(Vec::as_slice)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageSize {
    pub parameter: String,
    pub n: u32,
}

/// A parameter that asks for what is newer than so many days.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    pub parameter: String,
    pub days: u16,
    pub form: WindowForm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowForm {
    /// `2026-11-23`
    Date,
    Rfc3339,
    /// Seconds since 1970.
    S,
    /// Milliseconds since 1970.
    Ms,
}

/// How the next page of a stream is asked for, and what ends it. Pointers are into the whole answer, except for that of
/// [`Pager::AfterId`], which is into a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pager {
    /// One answer has everything.
    None,
    /// The parameter is the identifier of the last row. An empty page is the last one.
    AfterId { parameter: String, id: Pointer },
    /// The parameter is the name of a cursor, which may stay the same while its offset advances. An empty page is the last one.
    NamedCursor { parameter: String, name: Pointer, offset: Pointer },
    /// The answer has the next address, which must be of the same origin; none or an empty one on the last page.
    NextUrl { next: Pointer, total: Option<Pointer> },
    /// The parameter counts pages from `first`. An empty page is the last one, and so is one that completes the total.
    PageNumber { parameter: String, first: u32, total: Option<Pointer> },
}

/// The rows of each stream that was read to its end. Others are missing.
pub type Answers = BTreeMap<String, Vec<Value>>;

/// What the rows of a tool come to. `None`: the list was not read to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mapped {
    pub organizations: Option<Vec<Organization>>,
    /// Names of organizations that more than one has, while devices say only the name.
    pub namesakes: BTreeSet<String>,
    /// Those of all organizations.
    pub devices: Option<Vec<Device>>,
    /// The MSP's own people.
    pub users: Option<Vec<ToolUser>>,
    /// By which facts devices may be judged.
    pub known: BTreeSet<Fact>,
    /// Streams that have rows that are not as declared, and why, as a sentence without a full stop. What depends on them is not
    /// in `known`.
    pub partial: BTreeMap<String, String>,
    /// Words and times that the mapping does not understand, with how often they are in the rows.
    pub unmapped: BTreeMap<Unmapped, u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Organization {
    pub id: String,
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unmapped {
    pub stream: String,
    /// As pointer.
    pub field: String,
    /// Cut if it is long.
    pub word: String,
}

impl Mapping {
    /// The controls that it may decide.
    #[must_use]
    pub fn controls(&self) -> BTreeSet<&'static str> {
        let of_users = self.users.is_some().then_some("ID-21");
        self.devices.facts().into_iter().map(Fact::control).chain(of_users).collect()
    }
}
