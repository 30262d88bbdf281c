//! Pages about statements that are made about many clients at once.

use poem::http::Method;

use super::{Action, Page, Sending, Then, read};
use crate::web::console::form::Field;
use crate::web::console::form::Kind::{ClientsIfAny, Text};

pub(super) const PAGES: &[Page] = &[
    Page {
        path: "/batches",
        template: "batches",
        reads: &[read("batches", "/api/batches?offset=?offset&limit=50")],
        guarded: false,
    },
    Page {
        path: "/batches/:batch",
        template: "batch",
        reads: &[
            read("batch", "/api/batches/:batch"),
            read("members", "/api/batches/:batch/clients?offset=?offset&limit=50"),
        ],
        guarded: false,
    },
];

/// What is stated, and about whom.
macro_rules! said {
    ($($name:literal),*) => {
        Sending::Fields(&[
            Field("clientIds", ClientsIfAny),
            Field("tag", Text),
            $(Field($name, Text),)*
            Field("reason", Text),
            Field("until", Text),
        ])
    };
}

/// Tries it, and does it.
macro_rules! batch {
    ($word:literal, $($name:literal),*) => {
        [
            Action {
                name: concat!("try-", $word),
                path: concat!("/batches/", $word, "/try"),
                page: "/batches",
                method: Method::POST,
                target: "/api/batches/trial",
                sent: said!($($name),*),
                then: Then::Tried,
            },
            Action {
                name: concat!("begin-", $word),
                path: concat!("/batches/", $word),
                page: "/batches",
                method: Method::POST,
                target: "/api/batches",
                sent: said!($($name),*),
                then: Then::To("/batches/:new", "It is being stated. Reload the page to see how far it is."),
            },
        ]
    };
}

const ATTEST: [Action; 2] =
    batch!("attest", "attestation.controlCode", "attestation.status", "attestation.evidence");
const DECIDE: [Action; 2] = batch!(
    "decide",
    "decision.frameworkId",
    "decision.requirement",
    "decision.decision",
    "decision.evidence"
);
const ACCEPT: [Action; 2] = batch!("accept", "acceptance.controlCode");
const WHOLE: [Action; 2] = batch!("whole", "estate.kind");
const MEMBER: [Action; 2] = batch!("member", "estate.member", "estate.decision");
const UNDO: Action = Action {
    name: "undo-batch",
    path: "/batches/:batch/undo",
    page: "/batches/:batch",
    method: Method::POST,
    target: "/api/batches/:batch/undo",
    sent: Sending::Fields(&[Field("reason", Text)]),
    then: Then::To(
        "/batches/:batch",
        "It is being undone at each client. Reload the page to see how far it is.",
    ),
};

pub(super) const ACTIONS: &[Action] = &{
    let [try_attest, attest] = ATTEST;
    let [try_decide, decide] = DECIDE;
    let [try_accept, accept] = ACCEPT;
    let [try_whole, whole] = WHOLE;
    let [try_member, member] = MEMBER;
    [
        try_attest, attest, try_decide, decide, try_accept, accept, try_whole, whole, try_member,
        member, UNDO,
    ]
};
