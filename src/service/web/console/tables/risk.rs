//! Pages about risks, of one client and of all, and what is decided about them.

use poem::http::Method;

use super::{Action, CLIENT, Page, Sending, Then, read, read_if_there};
use crate::web::console::form::Field;
use crate::web::console::form::Kind::{Always, Part, Text};

pub(super) const PAGES: &[Page] = &[
    Page {
        path: "/risks",
        template: "risks",
        reads: &[read(
            "risks",
            "/api/portfolio/risks?severity=?severity=critical&after=?after&limit=50",
        )],
        guarded: false,
    },
    Page {
        path: "/clients/:client/risks",
        template: "client-risks",
        reads: &[
            CLIENT,
            read(
                "risks",
                "/api/clients/:client/risks?severity=?severity&accepted=?accepted&order=?order=severity&offset=?offset&limit=50",
            ),
        ],
        guarded: false,
    },
    Page {
        path: "/clients/:client/risks/:risk",
        template: "risk",
        reads: &[
            CLIENT,
            read_if_there("risk", "/api/clients/:client/risks/:risk"),
            read("tasks", "/api/tasks?clientId=:client&riskId=:risk&limit=20"),
            read("statements", "/api/clients/:client/statements?kind=risk&subject=:risk&limit=50"),
        ],
        guarded: false,
    },
];

/// Accepts a risk.
const ACCEPTANCE: &[Field] =
    &[Field("accepted", Always("true")), Field("reason", Text), Field("until", Text)];

/// Makes a task of a risk.
const TASK: &[Field] = &[
    Field("clientId", Part("client")),
    Field("riskId", Part("risk")),
    Field("title", Text),
    Field("assignee", Text),
    Field("dueAt", Text),
];

pub(super) const ACTIONS: &[Action] = &[
    Action {
        name: "accept-risks",
        path: "/risks/accept",
        page: "/risks",
        method: Method::PATCH,
        target: "/api/clients/:client/risks/:risk",
        sent: Sending::Each(&["client", "risk"], ACCEPTANCE),
        then: Then::To("/risks?severity=?severity", "The chosen risks are accepted."),
    },
    Action {
        name: "make-tasks",
        path: "/risks/tasks",
        page: "/risks",
        method: Method::POST,
        target: "/api/tasks",
        sent: Sending::Each(&["client", "risk"], TASK),
        then: Then::To("/tasks", "The tasks are created, one for each chosen risk."),
    },
    Action {
        name: "accept-risk",
        path: "/clients/:client/risks/:risk/accept",
        page: "/clients/:client/risks/:risk",
        method: Method::PATCH,
        target: "/api/clients/:client/risks/:risk",
        sent: Sending::Fields(ACCEPTANCE),
        then: Then::To("/clients/:client/risks/:risk", "The risk is accepted."),
    },
    Action {
        name: "reopen-risk",
        path: "/clients/:client/risks/:risk/reopen",
        page: "/clients/:client/risks/:risk",
        method: Method::PATCH,
        target: "/api/clients/:client/risks/:risk",
        sent: Sending::Fields(&[Field("accepted", Always("false")), Field("reason", Text)]),
        then: Then::To("/clients/:client/risks/:risk", "The acceptance has ended."),
    },
    Action {
        name: "make-task",
        path: "/clients/:client/risks/:risk/task",
        page: "/clients/:client/risks/:risk",
        method: Method::POST,
        target: "/api/tasks",
        sent: Sending::Fields(TASK),
        then: Then::To("/clients/:client/tasks", "The task is created."),
    },
    Action {
        name: "accept-client-risks",
        path: "/clients/:client/risks/accept",
        page: "/clients/:client/risks",
        method: Method::PATCH,
        target: "/api/clients/:client/risks/:risk",
        sent: Sending::Each(&["risk"], ACCEPTANCE),
        then: Then::To(
            "/clients/:client/risks?severity=?severity&accepted=?accepted&order=?order",
            "The chosen risks are accepted.",
        ),
    },
    Action {
        name: "make-client-tasks",
        path: "/clients/:client/risks/tasks",
        page: "/clients/:client/risks",
        method: Method::POST,
        target: "/api/tasks",
        sent: Sending::Each(&["risk"], TASK),
        then: Then::To(
            "/clients/:client/tasks",
            "The tasks are created, one for each chosen risk.",
        ),
    },
];
