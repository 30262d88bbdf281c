//! Pages about connections to clients' environments.

use poem::http::Method;

use super::{Action, Page, Read, Sending, Then, read, read_if_there};
use crate::web::console::form::Field;
use crate::web::console::form::Kind::{
    Client, Flag, LinesIfAny, Nested, NestedOrCleared, One, Part, Text, TextOrNull, TrueOrFalse,
};

const KINDS: Read = read("kinds", "/api/connection-kinds");
/// The app that connections to Microsoft use.
const APP: Read = read_if_there("app", "/api/microsoft-app");

pub(super) const PAGES: &[Page] = &[
    Page {
        path: "/connections",
        template: "connections",
        reads: &[KINDS, read("connections", "/api/connections?after=?after")],
        guarded: false,
    },
    Page {
        path: "/connections/add/:kind",
        template: "connection-add",
        reads: &[KINDS, APP],
        guarded: true,
    },
    Page {
        path: "/connections/:connection",
        template: "connection",
        reads: &[
            read("connection", "/api/connections/:connection"),
            read_if_there("organizations", "/api/connections/:connection/organizations"),
            read("clients", "/api/clients?limit=100"),
            KINDS,
        ],
        guarded: false,
    },
    Page {
        path: "/microsoft-app",
        template: "microsoft-app",
        reads: &[
            APP,
            read("registration", "/api/microsoft-app/registration?cloud=?cloud"),
            read("connections", "/api/connections?kind=m365&kind=azure&after=?after"),
        ],
        guarded: true,
    },
];

/// What the app is.
const APP_IDS: &[Field] = &[Field("appId", Text), Field("tenant", Text), Field("cloud", Text)];

/// What is entered for the app. Without a certificate and a secret, a certificate is made.
const APP_FIELDS: &[Field] = &[
    Field("appId", Text),
    Field("tenant", Text),
    Field("cloud", Text),
    Field("certificatePem", Text),
    Field("keyPem", Text),
    Field("clientSecret", Text),
    Field("secretExpiresAt", Text),
];

pub(super) const ACTIONS: &[Action] = &[
    Action {
        name: "add-connection",
        path: "/connections/add/:kind",
        page: "/connections/add/:kind",
        method: Method::POST,
        target: "/api/connections",
        sent: Sending::Fields(&[
            Field("kind", Part("kind")),
            Field("clientId", Client),
            Field("name", Text),
            Field("domains", LinesIfAny),
            Field("settings", Nested),
        ]),
        then: Then::To("/connections/:new", "The connection is added."),
    },
    Action {
        name: "sync-connection",
        path: "/connections/:connection/sync",
        page: "/connections/:connection",
        method: Method::POST,
        target: "/api/connections/:connection/sync",
        sent: Sending::Nothing,
        then: Then::To("/connections/:connection", "It is being read now."),
    },
    Action {
        name: "map-organization",
        path: "/connections/:connection/organizations",
        page: "/connections/:connection",
        method: Method::PATCH,
        target: "/api/connections/:connection/organizations",
        sent: Sending::Fields(&[Field(
            "organizations",
            One(&[
                Field("externalId", Text),
                Field("clientId", TextOrNull),
                Field("ignored", Flag),
            ]),
        )]),
        then: Then::To("/connections/:connection", "The organization is mapped."),
    },
    Action {
        name: "change-connection",
        path: "/connections/:connection/settings",
        page: "/connections/:connection",
        method: Method::PATCH,
        target: "/api/connections/:connection",
        sent: Sending::Fields(&[
            Field("name", Text),
            Field("domains", LinesIfAny),
            Field("settings", NestedOrCleared),
        ]),
        then: Then::To("/connections/:connection", "The connection is changed, and is read anew."),
    },
    Action {
        name: "pause-connection",
        path: "/connections/:connection/pause",
        page: "/connections/:connection",
        method: Method::PATCH,
        target: "/api/connections/:connection",
        sent: Sending::Fields(&[Field("paused", TrueOrFalse)]),
        then: Then::To("/connections/:connection", "The connection is changed."),
    },
    Action {
        name: "remove-connection",
        path: "/connections/:connection/remove",
        page: "/connections/:connection",
        method: Method::DELETE,
        target: "/api/connections/:connection",
        sent: Sending::Nothing,
        then: Then::To(
            "/connections",
            "The connection is removed; what it found no longer counts.",
        ),
    },
    Action {
        name: "set-microsoft-app",
        path: "/microsoft-app",
        page: "/microsoft-app",
        method: Method::PUT,
        target: "/api/microsoft-app",
        sent: Sending::Fields(APP_FIELDS),
        then: Then::To(
            "/microsoft-app",
            "The app is set. Now upload its certificate to Microsoft, and test it.",
        ),
    },
    Action {
        name: "change-microsoft-app",
        path: "/microsoft-app/ids",
        page: "/microsoft-app",
        method: Method::PATCH,
        target: "/api/microsoft-app",
        sent: Sending::Fields(APP_IDS),
        then: Then::To("/microsoft-app", "The ids are corrected. Test the app again."),
    },
    Action {
        name: "renew-microsoft-app",
        path: "/microsoft-app/renew",
        page: "/microsoft-app",
        method: Method::POST,
        target: "/api/microsoft-app/renew",
        sent: Sending::Nothing,
        then: Then::To(
            "/microsoft-app",
            "A new certificate is made. Upload it, then test the app. The one before is used until then.",
        ),
    },
    Action {
        name: "test-microsoft-app",
        path: "/microsoft-app/test",
        page: "/microsoft-app",
        method: Method::POST,
        target: "/api/microsoft-app/test",
        sent: Sending::Nothing,
        then: Then::Show,
    },
];
