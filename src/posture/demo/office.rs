//! The MSP itself: its users, its alert rules, and the scans of its own network.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;

use tokio::sync::watch;

use super::person;
use super::portfolio::{CLIENTS, DemoClient};
use crate::app::App;
use crate::app::access::user::{FIRST_ADMIN, NewPassword, NewUser, UserChange};
use crate::app::decision::alert_rule::NewRule;
use crate::app::scan::request::NewScan;
use crate::auth::caller::Caller;
use crate::engine::framework::FrameworkId;
use crate::engine::severity::Severity;
use crate::error::{Error, Result};
use crate::id::ClientId;
use crate::page::Cut;
use crate::store::global::alert::AlertCondition;
use crate::store::global::user::Role;

/// A user of the demonstration, with a password that is shown once.
pub struct Login {
    pub username: String,
    pub role: Role,
    pub password: String,
}

/// A user by name, display name and role. The viewer works at a client and sees nothing else.
const USERS: [(&str, &str, Role); 3] = [
    (FIRST_ADMIN, person::OWNER, Role::Admin),
    ("tomas", person::ENGINEER, Role::Analyst),
    ("ines", "Ines Vance", Role::Viewer),
];
const VIEWED: &str = "Fairwater Credit Union";
const MAIL_DOMAIN: &str = "northbridge-msp.example";

/// Adds what is missing of the users and the rules.
pub(super) async fn furnish(
    app: &App,
    by: &Caller,
    clients: &[(ClientId, &'static DemoClient)],
) -> Result<()> {
    let ids = |is_meant: &dyn Fn(&DemoClient) -> bool| -> Vec<ClientId> {
        clients.iter().filter(|it| is_meant(it.1)).map(|it| it.0).collect()
    };
    for (username, display_name, role) in USERS {
        let email = format!("{username}@{MAIL_DOMAIN}");
        if app.access.people.find_named(&email).is_some() {
            continue;
        }
        let clients = if role == Role::Viewer { ids(&|it| it.name == VIEWED) } else { Vec::new() };
        let new = NewUser {
            email,
            username: Some(username.to_owned()),
            display_name: Some(display_name.to_owned()),
            role,
            clients,
            password: None,
        };
        app.add_user(by, new).await?;
    }
    let known = app.list_alert_rules(by).await?;
    let hipaa = ids(&|it| it.must_meet(FrameworkId::Hipaa.as_str()));
    let rules = [
        ("Score below 50", Vec::new(), AlertCondition::ScoreBelow { value: 50 }),
        (
            "HIPAA readiness below 50",
            hipaa,
            AlertCondition::ReadinessBelow { framework: FrameworkId::Hipaa, value: 50 },
        ),
        (
            "Five or more critical risks",
            Vec::new(),
            AlertCondition::OpenRisksAtLeast { severity: Severity::Critical, value: 5 },
        ),
        (
            "An administrator without MFA",
            Vec::new(),
            AlertCondition::ControlFailing { control: "ID-03".to_owned() },
        ),
        ("A source is silent for a month", Vec::new(), AlertCondition::SourceSilent { hours: 720 }),
        ("Two tasks are overdue", Vec::new(), AlertCondition::TasksOverdueAtLeast { value: 2 }),
    ];
    for (name, clients, condition) in rules {
        if known.iter().all(|it| it.name != name) {
            let new = NewRule { name: name.to_owned(), enabled: true, clients, condition };
            app.add_alert_rule(by, new).await?;
        }
    }
    Ok(())
}

/// Gives the users new passwords, which they must change at their first login.
pub(super) async fn hand_out(app: &App, by: &Caller) -> Result<Vec<Login>> {
    let mut logins = Vec::new();
    for (username, _, role) in USERS {
        let Some(user) = app.access.people.find_named(username) else { continue };
        let password = Some(NewPassword::Generated);
        let change = UserChange { password, ..UserChange::default() };
        let (_, password) = app.change_user(by, user.id, || Ok(change)).await?;
        let username = username.to_owned();
        logins.extend(password.map(|password| Login { username, role, password }));
    }
    Ok(logins)
}

/// Scans a port of this host that is open for that, as the MSP scans its own server; and one scan of a client's branch is
/// canceled. Does nothing if there are scans.
pub(super) async fn scan(app: Arc<App>, by: Caller, client: ClientId) -> Result<()> {
    let one = Cut { limit: 1, offset: 0 };
    if app.list_scans(&by, None, one).await?.total != 0 {
        return Ok(());
    }
    let open = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(Error::internal)?;
    let port = open.local_addr().map_err(Error::internal)?.port();
    let branch = NewScan {
        client: Some(client),
        name: Some(format!("Branch office of {}", CLIENTS[0].name)),
        targets: vec!["192.168.250.0/24".to_owned()],
        ..NewScan::default()
    };
    let branch = app.start_scan(&by, branch).await?;
    app.cancel_scan(&by, branch.scan.id).await?;
    let own = NewScan {
        name: Some("Our own server".to_owned()),
        targets: vec![Ipv4Addr::LOCALHOST.to_string()],
        ports: Some(port.to_string()),
        ..NewScan::default()
    };
    app.start_scan(&by, own).await?;
    let (_running, stop) = watch::channel(false);
    if let Some(scan) = app.claim_scan(std::collections::BTreeSet::new()).await? {
        app.run_scan(scan, stop).await?;
    }
    Ok(())
}
