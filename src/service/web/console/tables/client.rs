//! Pages about one client.

use poem::http::Method;

use super::{Action, CLIENT, Page, Read, Sending, Then, read};
use crate::web::console::form::Field;
use crate::web::console::form::Kind::{
    Always, Flag, Lines, Number, Part, Several, SeveralIfAny, Text,
};

const FRAMEWORKS: Read = read("frameworks", "/api/clients/:client/compliance");

pub(super) const PAGES: &[Page] = &[
    Page {
        path: "/clients/:client",
        template: "client",
        reads: &[
            CLIENT,
            FRAMEWORKS,
            read("posture", "/api/clients/:client/posture"),
            read("risks", "/api/clients/:client/risks?limit=10"),
            read("events", "/api/events?clientId=:client&newest=true&limit=10"),
        ],
        guarded: false,
    },
    Page {
        path: "/clients/:client/controls",
        template: "controls",
        reads: &[
            CLIENT,
            FRAMEWORKS,
            read(
                "controls",
                "/api/clients/:client/controls?status=?status&framework=?framework&search=?search",
            ),
        ],
        guarded: false,
    },
    Page {
        path: "/clients/:client/controls/:control",
        template: "control",
        reads: &[
            CLIENT,
            read("control", "/api/clients/:client/controls/:control"),
            read("observations", "/api/clients/:client/observations?control=:control&limit=50"),
            read("evidence", "/api/clients/:client/evidence?controlCode=:control&limit=100"),
            read("subjects", "/api/clients/:client/controls/:control/subjects"),
            read("statements", "/api/clients/:client/statements?subject=:control&limit=50"),
            read("history", "/api/clients/:client/controls/:control/history?limit=50"),
        ],
        guarded: false,
    },
    Page {
        path: "/clients/:client/frameworks/:framework",
        template: "framework",
        reads: &[
            CLIENT,
            read("framework", "/api/clients/:client/compliance/:framework?status=?status"),
        ],
        guarded: false,
    },
    Page {
        path: "/clients/:client/frameworks/:framework/:requirement",
        template: "requirement",
        reads: &[
            CLIENT,
            read("requirement", "/api/clients/:client/compliance/:framework/:requirement"),
            read(
                "statements",
                "/api/clients/:client/statements?framework=:framework&subject=:requirement&limit=50",
            ),
            read(
                "history",
                "/api/clients/:client/compliance/:framework/:requirement/history?limit=50",
            ),
        ],
        guarded: false,
    },
    Page {
        path: "/clients/:client/tasks",
        template: "tasks",
        reads: &[
            CLIENT,
            read(
                "tasks",
                "/api/tasks?clientId=:client&status=?status=open&status=?status=in_progress&after=?after&limit=50",
            ),
        ],
        guarded: false,
    },
    Page {
        path: "/clients/:client/observations",
        template: "observations",
        reads: &[
            CLIENT,
            read(
                "observations",
                "/api/clients/:client/observations?control=?control&source=?source&failing=?failing&after=?after&limit=50",
            ),
        ],
        guarded: false,
    },
    Page {
        path: "/clients/:client/estate",
        template: "estate",
        reads: &[CLIENT, read("estate", "/api/clients/:client/estate")],
        guarded: false,
    },
    Page {
        path: "/clients/:client/statements",
        template: "statements",
        reads: &[
            CLIENT,
            read(
                "statements",
                "/api/clients/:client/statements?kind=?kind&framework=?framework&subject=?subject&after=?after&limit=50",
            ),
        ],
        guarded: false,
    },
    Page {
        path: "/clients/:client/vulnerabilities",
        template: "vulnerabilities",
        reads: &[
            CLIENT,
            read(
                "vulnerabilities",
                "/api/clients/:client/vulnerabilities?severity=?severity&id=?id&after=?after&limit=50",
            ),
        ],
        guarded: false,
    },
    Page {
        path: "/clients/:client/accounts",
        template: "accounts",
        reads: &[
            CLIENT,
            read(
                "accounts",
                "/api/clients/:client/accounts?search=?search&source=?source&privileged=?privileged&mfa=?mfa\
                 &enabled=?enabled&guest=?guest&after=?after&limit=50",
            ),
        ],
        guarded: false,
    },
    Page {
        path: "/clients/:client/assets",
        template: "assets",
        reads: &[
            CLIENT,
            read(
                "assets",
                "/api/clients/:client/assets?category=?category&assetType=?assetType&isCritical=?isCritical&offset=?offset&limit=50",
            ),
        ],
        guarded: false,
    },
    Page {
        path: "/clients/:client/imports",
        template: "imports",
        reads: &[CLIENT, read("imports", "/api/clients/:client/imports?offset=?offset&limit=50")],
        guarded: false,
    },
    Page {
        path: "/clients/:client/imports/:import",
        template: "import",
        reads: &[
            CLIENT,
            read("run", "/api/clients/:client/imports/:import"),
            read("undone", "/api/clients/:client/imports/:import/observations?limit=50"),
        ],
        guarded: false,
    },
    Page {
        path: "/clients/:client/connections",
        template: "connections",
        reads: &[
            CLIENT,
            read("connections", "/api/connections?clientId=:client&after=?after"),
            read("kinds", "/api/connection-kinds"),
        ],
        guarded: false,
    },
    Page {
        path: "/clients/:client/evidence",
        template: "evidence",
        reads: &[CLIENT, read("evidence", "/api/clients/:client/evidence?offset=?offset&limit=50")],
        guarded: false,
    },
    Page {
        path: "/clients/:client/reports",
        template: "schedules",
        reads: &[CLIENT, FRAMEWORKS, read("schedules", "/api/report-schedules?clientId=:client")],
        guarded: true,
    },
    Page {
        path: "/clients/:client/timeline",
        template: "timeline",
        reads: &[
            CLIENT,
            read("posture", "/api/clients/:client/posture"),
            read(
                "scores",
                "/api/events?clientId=:client&type=security_score_changed&newest=true&limit=60",
            ),
            read(
                "events",
                "/api/events?clientId=:client&riskId=?riskId&newest=true&before=?before&limit=60",
            ),
        ],
        guarded: false,
    },
    Page {
        path: "/clients/:client/settings",
        template: "client-settings",
        reads: &[
            CLIENT,
            FRAMEWORKS,
            read("statements", "/api/clients/:client/statements?kind=profile&limit=50"),
        ],
        guarded: false,
    },
];

/// Adds a schedule of the period.
macro_rules! schedule {
    ($every:literal) => {
        Action {
            name: concat!("add-client-schedule-", $every),
            path: concat!("/clients/:client/reports/add/", $every),
            page: "/clients/:client/reports",
            method: Method::POST,
            target: "/api/report-schedules",
            sent: Sending::Fields(&[
                Field("clientId", Part("client")),
                Field("framework", Text),
                Field("recipients", Lines),
                Field("language", Text),
                Field("when.every", Always(concat!("\"", $every, "\""))),
                Field("when.day", Number),
                Field("when.hour", Number),
                Field("when.timeZone", Text),
            ]),
            then: Then::To("/clients/:client/reports", "The schedule is added."),
        }
    };
}

pub(super) const ACTIONS: &[Action] = &[
    Action {
        name: "import",
        path: "/clients/:client/imports",
        page: "/clients/:client/imports",
        method: Method::POST,
        target: "/api/clients/:client/imports?format=?format&source=?source&fileName=?fileName\
                 &observedAt=?observedAt&complete=?complete&bind=?bind&again=?again",
        sent: Sending::File,
        then: Then::To("/clients/:client/imports/:new", "The file is imported."),
    },
    Action {
        name: "undo-import",
        path: "/clients/:client/imports/:import/undo",
        page: "/clients/:client/imports/:import",
        method: Method::DELETE,
        target: "/api/clients/:client/imports/:import?reason=?reason",
        sent: Sending::Nothing,
        then: Then::To(
            "/clients/:client/imports/:import",
            "The import is undone: what it replaced counts again.",
        ),
    },
    Action {
        name: "attest",
        path: "/clients/:client/controls/:control/attest",
        page: "/clients/:client/controls/:control",
        method: Method::PUT,
        target: "/api/clients/:client/controls/:control",
        sent: Sending::Fields(&[
            Field("status", Text),
            Field("reason", Text),
            Field("evidence", Text),
            Field("evidenceId", Text),
            Field("until", Text),
            Field("override", Flag),
            Field("facet", Text),
            Field("platform", Text),
            Field("scope", Text),
        ]),
        then: Then::To("/clients/:client/controls/:control", "The control is attested."),
    },
    Action {
        name: "withdraw-attestation",
        path: "/clients/:client/controls/:control/withdraw",
        page: "/clients/:client/controls/:control",
        method: Method::PUT,
        target: "/api/clients/:client/controls/:control",
        sent: Sending::Fields(&[
            Field("status", Always("null")),
            Field("reason", Text),
            Field("facet", Text),
            Field("platform", Text),
            Field("scope", Text),
        ]),
        then: Then::To("/clients/:client/controls/:control", "The attestation is withdrawn."),
    },
    Action {
        name: "decide-subjects",
        path: "/clients/:client/controls/:control/subjects",
        page: "/clients/:client/controls/:control",
        method: Method::POST,
        target: "/api/clients/:client/controls/:control/subjects",
        sent: Sending::Fields(&[
            Field("decision", Text),
            Field("ids", SeveralIfAny),
            Field("pattern", Text),
            Field("reason", Text),
            Field("until", Text),
        ]),
        then: Then::To("/clients/:client/controls/:control", "The decision is recorded."),
    },
    Action {
        name: "withdraw-subjects",
        path: "/clients/:client/controls/:control/subjects/:decision/withdraw",
        page: "/clients/:client/controls/:control",
        method: Method::DELETE,
        target: "/api/clients/:client/controls/:control/subjects/:decision?reason=?reason",
        sent: Sending::Nothing,
        then: Then::To("/clients/:client/controls/:control", "The decision is withdrawn."),
    },
    Action {
        name: "decide",
        path: "/clients/:client/frameworks/:framework/:requirement/decide",
        page: "/clients/:client/frameworks/:framework/:requirement",
        method: Method::PUT,
        target: "/api/clients/:client/compliance/:framework/:requirement",
        sent: Sending::Fields(&[
            Field("decision", Text),
            Field("reason", Text),
            Field("evidence", Text),
            Field("until", Text),
        ]),
        then: Then::To(
            "/clients/:client/frameworks/:framework/:requirement",
            "The decision is recorded.",
        ),
    },
    Action {
        name: "withdraw-decision",
        path: "/clients/:client/frameworks/:framework/:requirement/withdraw",
        page: "/clients/:client/frameworks/:framework/:requirement",
        method: Method::PUT,
        target: "/api/clients/:client/compliance/:framework/:requirement",
        sent: Sending::Fields(&[Field("decision", Always("null")), Field("reason", Text)]),
        then: Then::To(
            "/clients/:client/frameworks/:framework/:requirement",
            "The decision is withdrawn.",
        ),
    },
    Action {
        name: "say-all",
        path: "/clients/:client/estate/:kind/all",
        page: "/clients/:client/estate",
        method: Method::PUT,
        target: "/api/clients/:client/estate/:kind",
        sent: Sending::Fields(&[
            Field("all", Always("true")),
            Field("reason", Text),
            Field("until", Text),
        ]),
        then: Then::To("/clients/:client/estate", "It is recorded that these are all."),
    },
    Action {
        name: "say-not-all",
        path: "/clients/:client/estate/:kind/not-all",
        page: "/clients/:client/estate",
        method: Method::PUT,
        target: "/api/clients/:client/estate/:kind",
        sent: Sending::Fields(&[Field("all", Always("false")), Field("reason", Text)]),
        then: Then::To("/clients/:client/estate", "It is withdrawn that these are all."),
    },
    Action {
        name: "decide-estate",
        path: "/clients/:client/estate/decisions",
        page: "/clients/:client/estate",
        method: Method::POST,
        target: "/api/clients/:client/estate/decisions",
        sent: Sending::Fields(&[
            Field("members", Several),
            Field("decision", Text),
            Field("reason", Text),
            Field("until", Text),
        ]),
        then: Then::To("/clients/:client/estate", "The decision is recorded."),
    },
    Action {
        name: "undo-statement",
        path: "/clients/:client/statements/:number/undo",
        page: "/clients/:client/statements",
        method: Method::POST,
        target: "/api/clients/:client/statements/:number/undo",
        sent: Sending::Fields(&[Field("reason", Text)]),
        then: Then::To(
            "/clients/:client/statements",
            "The statement is undone: what it took the place of counts again.",
        ),
    },
    Action {
        name: "change-client-task",
        path: "/clients/:client/tasks/:task",
        page: "/clients/:client/tasks",
        method: Method::PATCH,
        target: "/api/tasks/:task",
        sent: Sending::Fields(&[Field("status", Text)]),
        then: Then::To("/clients/:client/tasks?status=?status", "The task is changed."),
    },
    Action {
        name: "add-evidence",
        path: "/clients/:client/evidence",
        page: "/clients/:client/evidence",
        method: Method::POST,
        target: "/api/clients/:client/evidence",
        sent: Sending::Fields(&[
            Field("controlCode", Text),
            Field("title", Text),
            Field("reference", Text),
            Field("validUntil", Text),
        ]),
        then: Then::To("/clients/:client/evidence", "The evidence is in the register."),
    },
    Action {
        name: "add-evidence-file",
        path: "/clients/:client/evidence/files",
        page: "/clients/:client/evidence",
        method: Method::POST,
        target: "/api/clients/:client/evidence/files?controlCode=?controlCode&title=?title&validUntil=?validUntil&fileName=?fileName",
        sent: Sending::File,
        then: Then::To("/clients/:client/evidence", "The file is in the register."),
    },
    Action {
        name: "add-control-file",
        path: "/clients/:client/controls/:control/files",
        page: "/clients/:client/controls/:control",
        method: Method::POST,
        target: "/api/clients/:client/evidence/files?controlCode=:control&title=?title&validUntil=?validUntil&fileName=?fileName",
        sent: Sending::File,
        then: Then::To(
            "/clients/:client/controls/:control",
            "The file is in the register. Now attest the control with it.",
        ),
    },
    Action {
        name: "add-requirement-file",
        path: "/clients/:client/frameworks/:framework/:requirement/files",
        page: "/clients/:client/frameworks/:framework/:requirement",
        method: Method::POST,
        target: "/api/clients/:client/evidence/files?controlCode=?controlCode&title=?title&validUntil=?validUntil&fileName=?fileName",
        sent: Sending::File,
        then: Then::To(
            "/clients/:client/frameworks/:framework/:requirement",
            "The file is in the register of evidence.",
        ),
    },
    Action {
        name: "remove-evidence",
        path: "/clients/:client/evidence/:evidence/remove",
        page: "/clients/:client/evidence",
        method: Method::DELETE,
        target: "/api/clients/:client/evidence/:evidence",
        sent: Sending::Nothing,
        then: Then::To("/clients/:client/evidence", "The evidence is removed from the register."),
    },
    schedule!("week"),
    schedule!("month"),
    schedule!("quarter"),
    Action {
        name: "send-client-schedule",
        path: "/clients/:client/reports/:schedule/send",
        page: "/clients/:client/reports",
        method: Method::POST,
        target: "/api/report-schedules/:schedule/send",
        sent: Sending::Nothing,
        then: Then::To(
            "/clients/:client/reports",
            "The report is being sent. Reload the page in a moment.",
        ),
    },
    Action {
        name: "remove-client-schedule",
        path: "/clients/:client/reports/:schedule/remove",
        page: "/clients/:client/reports",
        method: Method::DELETE,
        target: "/api/report-schedules/:schedule",
        sent: Sending::Nothing,
        then: Then::To("/clients/:client/reports", "The schedule is removed."),
    },
];
