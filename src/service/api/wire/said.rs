//! Words about what people say of a client, and about what exists at it.

use std::borrow::Cow;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::view::{Word, wire_type, word};
use crate::app::decision::member::{MemberCounting, MemberStanding};
use crate::app::decision::statement::{Standing, StatementKind};
use crate::engine::contradiction::DecisionKind;
use crate::engine::estate::{EstateKind, UnseenKind};
use crate::engine::subject::SubjectRuling;
use crate::store::per_client::statement::{Channel, StatedAnswer};

word!(
    /// What exists at a client. `cloud_accounts`: accounts, subscriptions and projects of clouds. `scopes`: tenants. `computers`:
    /// workstations, servers and virtual machines. `systems`: what has an address or a name in a network. `domains`: those that the DNS is
    /// read for.
    EstateKindView, EstateKind, "EstateKind", EstateKind::ALL, EstateKind::as_str
);
word!(
    /// Whether a member is one that must be seen. `new`: it was seen first a few days ago, and no control asks for it that did not look
    /// at it. `stale`: it was not seen for `staleAssetDays`. `excluded`: it exists, and is not meant. `retired`: it is gone; once
    /// something of it is seen again, it is `counted` again.
    MemberCountingView, MemberCounting, "MemberState", MemberCounting::ALL, MemberCounting::as_str
);
word!(
    /// What is decided about a member. `excluded`: it exists, and is not meant. `retired`: it is gone. `counted`: neither.
    MemberStandingView, MemberStanding, "MemberDecision", MemberStanding::ALL, MemberStanding::as_str
);
word!(
    /// What was not looked at: a `platform`, an `account` of one, further `cloud_accounts`, `devices`, `members` of which a source says
    /// nothing, a `facet`: something that a control requires, or a `domain`.
    UnseenKindView, UnseenKind, "UnseenKind", UnseenKind::ALL, UnseenKind::as_str
);
word!(
    /// What a person decided that is contradicted by what was seen.
    ContradictedDecisionView, DecisionKind, "ContradictedDecision", DecisionKind::ALL, DecisionKind::as_str
);
word!(
    /// What is decided about subjects of a control. `intended`: they are meant to be so, no members of the control, and neither pass
    /// nor fail. `accepted`: they fail, and the risk is accepted.
    SubjectRulingView, SubjectRuling, "SubjectRuling", SubjectRuling::ALL, SubjectRuling::as_str
);
word!(
    /// What a statement is about. `estate`: what exists at the client.
    StatementKindView, StatementKind, "StatementKind", StatementKind::ALL, StatementKind::as_str
);
word!(
    /// What a statement says: of a control its status, of a requirement `out_of_scope` or `attested`, of a risk `accepted`, of
    /// a question of the profile whether the client uses it, of an import `undone`, of a kind of the estate `all`, of a member of it
    /// `excluded` or `retired`, of subjects of a control `intended` or `accepted`.
    StatedAnswerView, &'static str, "StatementAnswer", StatedAnswer::WORDS, std::convert::identity
);
word!(
    /// How a statement arrived. `upgrade`: a release found it as the only one that was kept, or carried it over.
    StatementChannelView, Channel, "StatementChannel", Channel::ALL, Channel::as_str
);
word!(
    /// What became of a record. `in_force`: it counts. `expired`: it counted until `validUntil`. `ended`: the risk that it
    /// accepts is closed, or became more severe than what was accepted. `superseded`, `withdrawn`, `undone`: by the record
    /// `endedBy`. `recorded`: it is itself a withdrawal, or undoes a mistake.
    StatementStateView, &'static str, "StatementState", Standing::WORDS, std::convert::identity
);
