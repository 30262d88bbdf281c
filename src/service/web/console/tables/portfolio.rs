//! Pages about all clients.

use poem::http::Method;

use super::{Action, CLIENT_FIELDS, Page, Read, Sending, Then, read, read_if};
use crate::web::console::form::Field;
use crate::web::console::form::Kind::{Always, Client, Lines, Number, Text, TrueOrFalse};

const FRAMEWORKS: Read = read("frameworks", "/api/frameworks");
/// What happened since a day ago, without that sources were read but for their first time: they are, every night.
const NEWS: &str = "/api/events?newest=true&since=?since=:dayAgo&before=?before&limit=50&type=compliance_status_changed\
    &type=compliance_drift_detected&type=evidence_expiring&type=security_score_changed\
    &type=security_score_threshold_crossed&type=critical_risk_detected\
    &type=risk_item_created&type=risk_item_resolved&type=mfa_disabled\
    &type=admin_mfa_missing&type=privilege_escalation&type=dormant_account_detected\
    &type=remediation_task_created&type=remediation_task_completed\
    &type=remediation_task_overdue&type=integration_sync_failed\
    &type=connector_health_changed&type=asset_discovered&type=shadow_it_detected\
    &type=alert_triggered&type=risk_assessment_completed&firstRun=true";

pub(super) const PAGES: &[Page] = &[
    Page {
        path: "/",
        template: "morning",
        reads: &[
            read("kpis", "/api/dashboard/kpis"),
            read("alerts", "/api/alerts?limit=10"),
            read("reports", "/api/report-schedules?failing=true"),
            read("events", NEWS),
        ],
        guarded: false,
    },
    Page {
        path: "/clients",
        template: "clients",
        reads: &[
            FRAMEWORKS,
            read(
                "clients",
                "/api/portfolio/scores?search=?search&industry=?industry&tag=?tag&framework=?framework\
                 &order=?order=name&after=?after&limit=50",
            ),
        ],
        guarded: false,
    },
    Page {
        path: "/reports",
        template: "portfolio-schedules",
        reads: &[read("schedules", "/api/report-schedules")],
        guarded: true,
    },
    Page { path: "/clients/add", template: "client-add", reads: &[FRAMEWORKS], guarded: false },
    Page {
        path: "/tasks",
        template: "tasks",
        reads: &[read(
            "tasks",
            "/api/tasks?status=?status=open&status=?status=in_progress&after=?after&limit=50",
        )],
        guarded: false,
    },
    Page {
        path: "/across",
        template: "across",
        reads: &[
            FRAMEWORKS,
            read_if(
                "rows",
                "framework",
                "/api/portfolio/compliance?framework=?framework&requirement=?requirement&status=?status&offset=?offset&limit=50",
            ),
        ],
        guarded: false,
    },
    Page {
        path: "/scans",
        template: "scans",
        reads: &[read("scans", "/api/scan?offset=?offset&limit=50")],
        guarded: false,
    },
    Page {
        path: "/scans/:scan",
        template: "scan",
        reads: &[
            read("scan", "/api/scan/:scan/status"),
            read("results", "/api/scan/:scan/results?offset=?offset&limit=50"),
        ],
        guarded: false,
    },
    Page {
        path: "/alerts",
        template: "alerts",
        reads: &[
            FRAMEWORKS,
            read("alerts", "/api/alerts?after=?after&limit=50"),
            read("rules", "/api/alert-rules"),
        ],
        guarded: false,
    },
    Page {
        path: "/catalog",
        template: "catalog",
        reads: &[FRAMEWORKS, read("controls", "/api/controls")],
        guarded: false,
    },
    Page {
        path: "/catalog/frameworks/:framework",
        template: "catalog-framework",
        reads: &[read("framework", "/api/frameworks/:framework")],
        guarded: false,
    },
];

/// Adds an alert rule: the type of its condition, and its fields.
macro_rules! rule {
    ($type:literal, $($field:expr),*) => {
        Action {
            name: concat!("add-rule-", $type),
            path: concat!("/alerts/add/", $type),
            page: "/alerts",
            method: Method::POST,
            target: "/api/alert-rules",
            sent: Sending::Fields(&[
                Field("name", Text),
                Field("condition.type", Always(concat!("\"", $type, "\""))),
                $($field),*
            ]),
            then: Then::To("/alerts", "The rule is added."),
        }
    };
}

/// Adds a schedule of the report about all clients, of the period.
macro_rules! schedule {
    ($every:literal) => {
        Action {
            name: concat!("add-schedule-", $every),
            path: concat!("/reports/add/", $every),
            page: "/reports",
            method: Method::POST,
            target: "/api/report-schedules",
            sent: Sending::Fields(&[
                Field("recipients", Lines),
                Field("language", Text),
                Field("when.every", Always(concat!("\"", $every, "\""))),
                Field("when.day", Number),
                Field("when.hour", Number),
                Field("when.timeZone", Text),
            ]),
            then: Then::To("/reports", "The schedule is added."),
        }
    };
}

pub(super) const ACTIONS: &[Action] = &[
    schedule!("week"),
    schedule!("month"),
    schedule!("quarter"),
    Action {
        name: "send-schedule",
        path: "/reports/:schedule/send",
        page: "/reports",
        method: Method::POST,
        target: "/api/report-schedules/:schedule/send",
        sent: Sending::Nothing,
        then: Then::To("/reports", "The report is being sent. Reload the page in a moment."),
    },
    Action {
        name: "remove-schedule",
        path: "/reports/:schedule/remove",
        page: "/reports",
        method: Method::DELETE,
        target: "/api/report-schedules/:schedule",
        sent: Sending::Nothing,
        then: Then::To("/reports", "The schedule is removed."),
    },
    Action {
        name: "add-client-list",
        path: "/clients/add/list",
        page: "/clients/add",
        method: Method::POST,
        target: "/api/clients/list",
        sent: Sending::File,
        then: Then::Show,
    },
    Action {
        name: "add-client",
        path: "/clients/add",
        page: "/clients/add",
        method: Method::POST,
        target: "/api/clients",
        sent: Sending::Fields(CLIENT_FIELDS),
        then: Then::To("/clients/:new", "The client is added. Now bring in first facts about it."),
    },
    Action {
        name: "change-task",
        path: "/tasks/:task",
        page: "/tasks",
        method: Method::PATCH,
        target: "/api/tasks/:task",
        sent: Sending::Fields(&[Field("status", Text)]),
        then: Then::To("/tasks?status=?status", "The task is changed."),
    },
    Action {
        name: "start-scan",
        path: "/scans",
        page: "/scans",
        method: Method::POST,
        target: "/api/scan",
        sent: Sending::Fields(&[
            Field("targets", Lines),
            Field("exclude", Lines),
            Field("clientId", Client),
            Field("name", Text),
        ]),
        then: Then::To("/scans", "The scan has begun."),
    },
    Action {
        name: "cancel-scan",
        path: "/scans/:scan/cancel",
        page: "/scans/:scan",
        method: Method::POST,
        target: "/api/scan/:scan/cancel",
        sent: Sending::Nothing,
        then: Then::To("/scans/:scan", "The scan is being canceled."),
    },
    Action {
        name: "change-rule",
        path: "/alerts/:rule",
        page: "/alerts",
        method: Method::PATCH,
        target: "/api/alert-rules/:rule",
        sent: Sending::Fields(&[Field("enabled", TrueOrFalse)]),
        then: Then::To("/alerts", "The rule is changed."),
    },
    Action {
        name: "remove-rule",
        path: "/alerts/:rule/remove",
        page: "/alerts",
        method: Method::DELETE,
        target: "/api/alert-rules/:rule",
        sent: Sending::Nothing,
        then: Then::To("/alerts", "The rule is removed."),
    },
    rule!("score_below", Field("condition.value", Number)),
    rule!("tasks_overdue_at_least", Field("condition.value", Number)),
    rule!("source_silent", Field("condition.hours", Number)),
    rule!("control_failing", Field("condition.controlCode", Text)),
    rule!(
        "open_risks_at_least",
        Field("condition.value", Number),
        Field("condition.severity", Text)
    ),
    rule!("readiness_below", Field("condition.value", Number), Field("condition.framework", Text)),
];
