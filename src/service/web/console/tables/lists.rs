//! The lists of pages that are offered as files.

use super::{Page, pages};

/// Where a list begins: no page of it is filtered by these.
pub(in crate::web::console) const POSITIONS: [&str; 3] = ["after", "before", "offset"];

/// Whether what a query says filters its page: neither the position in a list, nor what was said.
pub(in crate::web::console) fn is_filter(name: &str) -> bool {
    name != "done" && !POSITIONS.contains(&name)
}

/// A list of a page.
pub(in crate::web::console) struct List {
    /// The path of its page.
    pub(in crate::web::console) page: &'static str,
    /// Which answer of its page it is.
    pub(in crate::web::console) read: &'static str,
    /// What is called if it is not what the page reads.
    own_target: Option<&'static str>,
    /// The field of the answer that it is in, if the answer has more.
    pub(in crate::web::console) field: Option<&'static str>,
    /// What the page calls it.
    pub(in crate::web::console) title: &'static str,
}

impl List {
    /// Where it is, with `:name` for the parts that are read.
    pub(in crate::web::console) fn path(&self) -> String {
        format!("{}/csv/{}", self.page, self.read)
    }

    /// Its page, unless that is one of the user's own account.
    pub(in crate::web::console) fn find_page(&self) -> Option<&'static Page> {
        pages().find(|it| it.path == self.page)
    }

    /// What is called; see `call::fill`.
    pub(in crate::web::console) fn target(&self) -> &'static str {
        let read = || self.find_page()?.reads.iter().find(|it| it.name == self.read);
        let target = self.own_target.or_else(|| read().map(|it| it.target));
        target.expect("tests/it/console reads each list")
    }
}

const fn list(page: &'static str, read: &'static str, title: &'static str) -> List {
    List { page, read, own_target: None, field: None, title }
}

/// All lists.
pub(in crate::web::console) fn lists() -> impl Iterator<Item = &'static List> {
    LISTS.iter()
}

const LISTS: &[List] = &[
    list("/clients", "clients", "Clients"),
    list("/reports", "schedules", "Schedules"),
    list("/risks", "risks", "Risks"),
    list("/tasks", "tasks", "Tasks"),
    list("/across", "rows", "Results"),
    list("/scans", "scans", "Scans"),
    list("/scans/:scan", "results", "Hosts"),
    list("/connections", "connections", "Connections"),
    list("/connections/:connection", "organizations", "Organizations"),
    list("/alerts", "alerts", "Alerts"),
    list("/alerts", "rules", "Rules"),
    list("/catalog", "frameworks", "Frameworks"),
    list("/catalog", "controls", "Controls"),
    List {
        field: Some("rows"),
        ..list("/catalog/frameworks/:framework", "framework", "Requirements")
    },
    list("/clients/:client", "frameworks", "Frameworks"),
    list("/clients/:client/controls", "controls", "Controls"),
    list("/clients/:client/controls/:control", "observations", "Observations"),
    list("/clients/:client/controls/:control", "evidence", "Evidence"),
    list("/clients/:client/controls/:control", "history", "History"),
    list("/clients/:client/frameworks/:framework/:requirement", "history", "History"),
    list("/clients/:client/risks", "risks", "Risks"),
    list("/clients/:client/tasks", "tasks", "Tasks"),
    list("/clients/:client/observations", "observations", "Observations"),
    list("/clients/:client/statements", "statements", "Statements"),
    list("/clients/:client/vulnerabilities", "vulnerabilities", "Vulnerabilities"),
    list("/clients/:client/accounts", "accounts", "Accounts"),
    list("/clients/:client/assets", "assets", "Assets"),
    list("/clients/:client/imports", "imports", "Imports"),
    List { field: Some("controls"), ..list("/clients/:client/imports/:import", "run", "Controls") },
    list("/clients/:client/connections", "connections", "Connections"),
    list("/clients/:client/evidence", "evidence", "Evidence"),
    list("/clients/:client/reports", "schedules", "Schedules"),
    // The page reads the last ones first.
    List {
        own_target: Some("/api/events?clientId=:client&after=?after&limit=1000"),
        ..list("/clients/:client/timeline", "events", "Events")
    },
    list("/webhooks", "webhooks", "Webhooks"),
    list("/webhooks/:webhook", "deliveries", "Deliveries"),
    list("/keys", "keys", "Keys"),
    list("/users", "users", "Users"),
    list("/audit", "audit", "Entries"),
    list("/settings", "settings", "Settings"),
    List { own_target: Some("/api/me/passkeys"), ..list("/me/passkeys", "passkeys", "Passkeys") },
    List { own_target: Some("/api/me/sessions"), ..list("/me/sessions", "sessions", "Sessions") },
];
