//! Settings of a client: actions.

use poem::http::Method;

use super::{Action, Sending, Then};
use crate::web::console::form::Field;
use crate::web::console::form::Kind::{
    Lines, NumberOrNull, Several, Text, TextOrNull, TrueOrFalse,
};

/// The questions of a client's profile.
macro_rules! answers {
    ($($name:literal),* $(,)?) => {
        &[
            Field("name", Text),
            Field("industry", TextOrNull),
            Field("employeeCount", NumberOrNull),
            Field("active", TrueOrFalse),
            Field("settings.frameworks", Several),
            Field("settings.tags", Lines),
            Field("settings.timeZone", TextOrNull),
            $(Field(concat!("settings.profile.", $name), Text)),*
        ]
    };
}

const SETTINGS: &[Field] = answers![
    "m365",
    "google",
    "otherIdentity",
    "aws",
    "azure",
    "gcp",
    "kubernetes",
    "saas",
    "onPremNetwork",
    "mobileDevices",
    "servers",
    "customerWebApps",
    "softwareDevelopment",
    "cardPayments",
    "criminalJusticeInformation",
    "educationRecords",
    "paymentServiceProvider",
    "creditReports",
];

pub(super) const ACTIONS: &[Action] = &[
    Action {
        name: "set-scan-networks",
        path: "/clients/:client/networks",
        page: "/clients/:client/settings",
        method: Method::PATCH,
        target: "/api/clients/:client",
        sent: Sending::Fields(&[Field("settings.scanNetworks", Lines)]),
        then: Then::To("/clients/:client/settings", "The networks are set."),
    },
    Action {
        name: "change-client",
        path: "/clients/:client/settings",
        page: "/clients/:client/settings",
        method: Method::PATCH,
        target: "/api/clients/:client",
        sent: Sending::Fields(SETTINGS),
        then: Then::To("/clients/:client/settings", "The settings are changed."),
    },
    Action {
        name: "hold-client",
        path: "/clients/:client/hold",
        page: "/clients/:client/settings",
        method: Method::PUT,
        target: "/api/clients/:client/hold",
        sent: Sending::Fields(&[Field("reason", Text), Field("until", Text)]),
        then: Then::To(
            "/clients/:client/settings",
            "The client is under a hold. Nothing about it is removed.",
        ),
    },
    Action {
        name: "release-client",
        path: "/clients/:client/release",
        page: "/clients/:client/settings",
        method: Method::DELETE,
        target: "/api/clients/:client/hold?reason=?reason",
        sent: Sending::Nothing,
        then: Then::To("/clients/:client/settings", "The hold is lifted."),
    },
    Action {
        name: "remove-client",
        path: "/clients/:client/settings/remove",
        page: "/clients/:client/settings",
        method: Method::DELETE,
        target: "/api/clients/:client",
        sent: Sending::Nothing,
        then: Then::To(
            "/clients",
            "The client and everything about it is erased. The receipt is below the audit log.",
        ),
    },
];
