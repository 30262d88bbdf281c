//! Pages about this installation and who uses it.

use poem::http::Method;

use super::{Action, CLIENT_FIELDS, Page, Read, Sending, Then, read};
use crate::web::console::form::Field;
use crate::web::console::form::Kind::{
    Always, Clients, Day, Lines, LinesIfAny, Part, Several, StartOfDay, Text, TrueOrFalse,
};

const WEBHOOKS: Read = read("webhooks", "/api/webhooks");

pub(super) const PAGES: &[Page] = &[
    Page {
        path: "/start",
        template: "start",
        reads: &[
            read("account", "/api/me"),
            read("kpis", "/api/dashboard/kpis"),
            read("clients", "/api/clients?limit=1"),
            read("connections", "/api/connections?limit=1"),
            read("keys", "/api/keys"),
        ],
        guarded: true,
    },
    Page { path: "/webhooks", template: "webhooks", reads: &[WEBHOOKS], guarded: true },
    Page {
        path: "/webhooks/:webhook",
        template: "webhook",
        reads: &[
            WEBHOOKS,
            read("deliveries", "/api/webhooks/:webhook/deliveries?after=?after&limit=50"),
        ],
        guarded: true,
    },
    Page { path: "/keys", template: "keys", reads: &[read("keys", "/api/keys")], guarded: true },
    Page {
        path: "/users",
        template: "users",
        reads: &[read("users", "/api/users")],
        guarded: true,
    },
    Page {
        path: "/audit",
        template: "audit",
        reads: &[read(
            "audit",
            "/api/audit?by=?by&action=?action&clientId=?clientId&from=?from&until=?until&before=?before&limit=50",
        )],
        guarded: false,
    },
    Page {
        path: "/system",
        template: "system",
        reads: &[read("system", "/api/system"), read("backups", "/api/backups")],
        guarded: false,
    },
    Page { path: "/me", template: "me", reads: &[read("account", "/api/me")], guarded: false },
];

pub(super) const ACTIONS: &[Action] = &[
    Action {
        name: "first-client",
        path: "/start/client",
        page: "/start",
        method: Method::POST,
        target: "/api/clients",
        sent: Sending::Fields(CLIENT_FIELDS),
        then: Then::To("/start", "The client is added. Now bring in first facts about it."),
    },
    Action {
        name: "first-connection",
        path: "/start/:client/dns",
        page: "/start",
        method: Method::POST,
        target: "/api/connections",
        sent: Sending::Fields(&[
            Field("kind", Always("\"dns\"")),
            Field("clientId", Part("client")),
            Field("domains", LinesIfAny),
        ]),
        then: Then::To("/start", "The domains are being read, now and once a day."),
    },
    Action {
        name: "first-import",
        path: "/start/:client/import",
        page: "/start",
        method: Method::POST,
        target: "/api/clients/:client/imports?fileName=?fileName&observedAt=?observedAt",
        sent: Sending::File,
        then: Then::To("/start", "The file is imported."),
    },
    Action {
        name: "first-key",
        path: "/start/key",
        page: "/start",
        method: Method::POST,
        target: "/api/keys",
        sent: Sending::Fields(&[
            Field("name", Text),
            Field(
                "scopes",
                Always(
                    "[\"read:clients\", \"read:assets\", \"read:scores\", \"read:risks\", \
                      \"read:compliance\", \"read:events\"]",
                ),
            ),
        ]),
        then: Then::Show,
    },
    Action {
        name: "make-backup",
        path: "/system/backup",
        page: "/system",
        method: Method::POST,
        target: "/api/backups",
        sent: Sending::Fields(&[]),
        then: Then::To("/system", "The backup is made and verified."),
    },
    Action {
        name: "test-backup",
        path: "/system/drill",
        page: "/system",
        method: Method::POST,
        target: "/api/backups/drill",
        sent: Sending::Fields(&[]),
        then: Then::To(
            "/system",
            "The backup was restored as a test, and everything in it is there.",
        ),
    },
    Action {
        name: "add-webhook",
        path: "/webhooks",
        page: "/webhooks",
        method: Method::POST,
        target: "/api/webhooks",
        sent: Sending::Fields(&[
            Field("url", Text),
            Field("description", Text),
            Field("events", Lines),
        ]),
        then: Then::Show,
    },
    Action {
        name: "change-webhook",
        path: "/webhooks/:webhook/enable",
        page: "/webhooks/:webhook",
        method: Method::PATCH,
        target: "/api/webhooks/:webhook",
        sent: Sending::Fields(&[Field("enabled", TrueOrFalse)]),
        then: Then::To("/webhooks/:webhook", "The webhook is changed."),
    },
    Action {
        name: "test-webhook",
        path: "/webhooks/:webhook/test",
        page: "/webhooks/:webhook",
        method: Method::POST,
        target: "/api/webhooks/:webhook/test",
        sent: Sending::Fields(&[]),
        then: Then::Show,
    },
    Action {
        name: "rotate-webhook",
        path: "/webhooks/:webhook/rotate",
        page: "/webhooks/:webhook",
        method: Method::POST,
        target: "/api/webhooks/:webhook/rotate-secret",
        sent: Sending::Fields(&[]),
        then: Then::Show,
    },
    Action {
        name: "remove-webhook",
        path: "/webhooks/:webhook/remove",
        page: "/webhooks/:webhook",
        method: Method::DELETE,
        target: "/api/webhooks/:webhook",
        sent: Sending::Nothing,
        then: Then::To("/webhooks", "The webhook is removed."),
    },
    Action {
        name: "recover-webhook",
        path: "/webhooks/:webhook/recover",
        page: "/webhooks/:webhook",
        method: Method::POST,
        target: "/api/webhooks/:webhook/recover",
        sent: Sending::Fields(&[Field("since", StartOfDay)]),
        then: Then::To("/webhooks/:webhook", "What failed since then is sent again."),
    },
    Action {
        name: "issue-key",
        path: "/keys",
        page: "/keys",
        method: Method::POST,
        target: "/api/keys",
        sent: Sending::Fields(&[
            Field("name", Text),
            Field("scopes", Several),
            Field("clientIds", Clients),
            Field("networks", Lines),
            Field("expiresAt", Day),
        ]),
        then: Then::Show,
    },
    Action {
        name: "rotate-key",
        path: "/keys/:key/rotate",
        page: "/keys",
        method: Method::POST,
        target: "/api/keys/:key/rotate",
        sent: Sending::Fields(&[]),
        then: Then::Show,
    },
    Action {
        name: "revoke-key",
        path: "/keys/:key/revoke",
        page: "/keys",
        method: Method::DELETE,
        target: "/api/keys/:key",
        sent: Sending::Nothing,
        then: Then::To("/keys", "The key is revoked."),
    },
    Action {
        name: "add-user",
        path: "/users",
        page: "/users",
        method: Method::POST,
        target: "/api/users",
        sent: Sending::Fields(&[
            Field("email", Text),
            Field("displayName", Text),
            Field("username", Text),
            Field("role", Text),
            Field("clientIds", Clients),
        ]),
        then: Then::Show,
    },
    Action {
        name: "change-user",
        path: "/users/:user",
        page: "/users",
        method: Method::PATCH,
        target: "/api/users/:user",
        sent: Sending::Fields(&[Field("enabled", TrueOrFalse)]),
        then: Then::To("/users", "The user is changed."),
    },
    Action {
        name: "reset-password",
        path: "/users/:user/password",
        page: "/users",
        method: Method::PATCH,
        target: "/api/users/:user",
        sent: Sending::Fields(&[Field("password", Always("null"))]),
        then: Then::Show,
    },
    Action {
        name: "reset-mfa",
        path: "/users/:user/reset-mfa",
        page: "/users",
        method: Method::DELETE,
        target: "/api/users/:user/mfa",
        sent: Sending::Nothing,
        then: Then::To(
            "/users",
            "The second factor is off, and the passkeys are removed. The user signs in with the password.",
        ),
    },
];
