//! What was read of a client's environment, and what it says of controls.

use std::collections::BTreeSet;

use crate::engine::asset::Seen;
use crate::engine::fact::{FINDINGS_CHARS_MAX, Status, Verdict, failing_line};
use crate::engine::identity::{AppUse, Identity};
use crate::engine::memory::N_NAMES_MAX;

/// What was read of a client's environment: one group for each part that can be read on its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    pub groups: Vec<Group>,
    /// Of a tool that sees many clients. `None`: it does not, or they could not be read.
    pub orgs: Option<Vec<Org>>,
    /// Nothing could be read because the client has not consented, or there is no app to consent to.
    pub awaits_consent: bool,
}

/// Of one connection. A list with more of them is not read.
pub const N_ORGS_MAX: usize = 5_000;

/// An organization as a vendor knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Org {
    pub external_id: String,
    pub name: String,
    /// `None`: not all of them were read.
    pub n_devices: Option<u32>,
    /// With streams of its own: those that the groups depend on.
    pub groups: Vec<Group>,
}

/// Facts that come from the same streams. They are taken together or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// The part of the environment: of the DNS, the domain as ASCII in lower case.
    pub scope: String,
    /// It says all that there is in its scope: what it said before and does not say now is gone.
    pub is_whole: bool,
    pub streams: Vec<Stream>,
    /// A stream that was not read completely has none.
    pub observations: Vec<Judged>,
    /// Facts worth showing that decide nothing: a name and a text.
    pub notes: Vec<(String, String)>,
    /// All accounts, whether or not it says all that there is. `None`: it has no such list, or it was not read completely.
    pub accounts: Option<Vec<Identity>>,
    /// All apps of others that have access. `None`: as of `accounts`.
    pub apps: Option<Vec<AppUse>>,
    /// What was seen: all of it if it says all that there is. `None`: it has no such list, or it was not read.
    pub assets: Option<Vec<Seen>>,
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
    /// Of a population. `None`: the control is about the environment as a whole.
    pub count: Option<Count>,
    /// Where it is partly met: why.
    pub sight: Sight,
}

/// How far a connector looks at a control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sight {
    /// At all of it: where it is partly met, something fails.
    #[default]
    Whole,
    /// What it looks at passes, and there is more that it cannot see.
    Short,
    /// What it looks at passes, and is one or some of the facets of the control, as the catalog says.
    Facets,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JudgedStatus {
    Compliant,
    Partial,
    NonCompliant,
    NotApplicable,
}

impl JudgedStatus {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Compliant => "compliant",
            Self::Partial => "partial",
            Self::NonCompliant => "non_compliant",
            Self::NotApplicable => "not_applicable",
        }
    }
}

/// How many members of a population pass, and which fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count {
    pub n_passed: u32,
    /// External ids, as assets have them.
    pub failing: Vec<String>,
    /// The names of the first [`N_NAMES_MAX`] of them.
    pub names: Vec<String>,
    /// Of how many it is not known.
    pub n_unseen: u32,
}

/// One member of a population that a rule looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member<'a> {
    /// The external id of its asset.
    pub id: &'a str,
    pub name: &'a str,
    /// `None`: unknown, which is neither.
    pub passes: Option<bool>,
}

impl Group {
    /// Leaves only how it was read, so that what was said of it before stands.
    pub fn say_nothing(&mut self) {
        let (scope, streams) = (std::mem::take(&mut self.scope), std::mem::take(&mut self.streams));
        *self = Self { scope, streams, ..Self::default() };
    }

    /// Leaves only what fails of these controls, because a check of them was not read. What is not said any more is not gone.
    pub fn show_only_gaps(&mut self, unread: &BTreeSet<&str>) {
        let n = self.observations.len();
        let all = std::mem::take(&mut self.observations).into_iter();
        let left =
            all.filter_map(|it| if unread.contains(it.control) { it.into_gap() } else { Some(it) });
        self.observations = left.collect();
        self.is_whole &= self.observations.len() == n;
    }
}

impl Judged {
    /// `None`: it does not apply, which is not a fact about the control.
    #[must_use]
    pub fn verdict(&self) -> Option<Verdict> {
        let stated = Verdict::Stated(match self.status {
            JudgedStatus::Compliant => Status::Compliant,
            JudgedStatus::Partial => Status::Partial,
            JudgedStatus::NonCompliant => Status::NonCompliant,
            JudgedStatus::NotApplicable => return None,
        });
        let counted = self.count.as_ref().map(|it| {
            let failed = u32::try_from(it.failing.len()).unwrap_or(u32::MAX);
            Verdict::of_population(it.n_passed, failed, it.n_unseen)
        });
        let seen = match self.sight {
            Sight::Short => Verdict::Seen { passed: 1, failed: 0, unseen: 1 },
            Sight::Facets => Verdict::Stated(Status::Compliant),
            Sight::Whole => stated,
        };
        Some(counted.unwrap_or(seen))
    }

    /// Judges the environment as a whole.
    #[must_use]
    pub fn whole(
        control: &'static str,
        check: &str,
        status: JudgedStatus,
        findings: impl AsRef<str>,
    ) -> Self {
        let findings = cut(findings.as_ref());
        Self {
            control,
            check: check.to_owned(),
            status,
            findings,
            count: None,
            sight: Sight::Whole,
        }
    }

    /// What it looks at passes, which is not all of the control.
    #[must_use]
    pub fn part(
        control: &'static str,
        check: &str,
        sight: Sight,
        findings: impl AsRef<str>,
    ) -> Self {
        Self { sight, ..Self::whole(control, check, JudgedStatus::Partial, findings) }
    }

    /// Judges a population that was read completely, by [`Verdict::of_population`].
    ///
    /// `None`: nothing is known that decides. `what`: what the failing members do wrong and what to do, as sentences.
    #[must_use]
    pub fn population<'a>(
        control: &'static str,
        check: &str,
        members: impl IntoIterator<Item = Member<'a>>,
        what: &str,
    ) -> Option<Self> {
        let (mut n_passed, mut failing, mut n_unknown) = (0_u32, Vec::new(), 0_u32);
        for it in members {
            match it.passes {
                Some(true) => n_passed += 1,
                Some(false) => failing.push(it),
                None => n_unknown += 1,
            }
        }
        let n_failed = failing.len();
        let n_known = n_passed as usize + n_failed;
        let failed = u32::try_from(n_failed).unwrap_or(u32::MAX);
        if !Verdict::of_population(n_passed, failed, n_unknown).is_effective() {
            return None;
        }
        let status = match (n_failed, n_unknown) {
            (0, 0) => JudgedStatus::Compliant,
            (0, _) => JudgedStatus::Partial,
            _ => JudgedStatus::NonCompliant,
        };
        let names: Vec<&str> = failing.iter().map(|it| it.name).collect();
        let mut lines = Vec::new();
        if n_failed == 0 {
            lines.push(format!("All {n_passed} that are known pass."));
        } else {
            lines.push(failing_line(&names, n_failed));
            lines.push(format!("{n_failed} of {n_known} fail. {what}"));
        }
        if 0 < n_unknown {
            lines.push(format!("Unknown for {n_unknown} more."));
        }
        let failing = failing.iter().map(|it| it.id.to_owned()).collect();
        let names = names.into_iter().take(N_NAMES_MAX).map(str::to_owned).collect();
        let count = Some(Count { n_passed, failing, names, n_unseen: n_unknown });
        let findings = cut(&lines.join("\n"));
        Some(Self {
            control,
            check: check.to_owned(),
            status,
            findings,
            count,
            sight: Sight::Whole,
        })
    }

    /// Makes it partly met at most, because less was looked at than the control asks for. `rest`: what was not looked at, as
    /// sentences.
    #[must_use]
    pub fn at_most_partial(self, rest: &str) -> Self {
        if self.status != JudgedStatus::Compliant {
            return self;
        }
        let findings = cut(&format!("{}\n{rest}", self.findings));
        Self { status: JudgedStatus::Partial, findings, count: None, sight: Sight::Short, ..self }
    }

    /// What it says while another check of its control was not read, which may be worse: what fails, and nothing that passes.
    ///
    /// `None`: it says nothing then.
    #[must_use]
    pub fn into_gap(self) -> Option<Self> {
        match self.status {
            JudgedStatus::Compliant | JudgedStatus::Partial => None,
            JudgedStatus::NonCompliant => {
                let count = self.count.map(|it| Count { n_passed: 0, ..it });
                Some(Self { count, ..self })
            }
            JudgedStatus::NotApplicable => Some(self),
        }
    }
}

fn cut(findings: &str) -> String {
    findings.chars().take(FINDINGS_CHARS_MAX).collect()
}
