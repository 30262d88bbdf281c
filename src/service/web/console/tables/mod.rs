//! The pages of the console and what can be done on them, by the part of the product that they are about.

mod batch;
mod client;
mod client_settings;
mod connections;
mod lists;
mod portfolio;
mod risk;
mod settings;

use poem::http::Method;

use super::form::{Field, Kind};

pub(super) use lists::{List, POSITIONS, is_filter, lists};

/// A page. It may be seen by whom the operations answer that it reads.
pub(super) struct Page {
    /// With `:name` for the parts that are read.
    pub(super) path: &'static str,
    pub(super) template: &'static str,
    pub(super) reads: &'static [Read],
    /// Shown only to a user who gave the password a short while ago: what can be done here gives access to others.
    pub(super) guarded: bool,
}

/// An answer that a page shows.
pub(super) struct Read {
    /// What the template calls it.
    pub(super) name: &'static str,
    /// What is called; see `call::fill`.
    pub(super) target: &'static str,
    pub(super) need: Need,
}

/// Whether a page can do without an answer. Its template then finds nothing.
#[derive(Clone, Copy)]
pub(super) enum Need {
    Always,
    /// It is read only if the page's query has a value of this name.
    IfAsked(&'static str),
    /// There may be no such thing.
    IfThere,
}

/// They are confirmed with the password although their pages are not: they say whose data it is, and what others may scan.
const CONFIRMED: [&str; 3] = ["change-connection", "map-organization", "set-scan-networks"];

/// What a form does.
pub(super) struct Action {
    /// Its name in addresses.
    pub(super) name: &'static str,
    /// Where the form is sent, with `:name` for the parts that are read.
    pub(super) path: &'static str,
    /// The path of the page that shows what went wrong.
    pub(super) page: &'static str,
    pub(super) method: Method,
    /// What is called; see `call::fill`.
    pub(super) target: &'static str,
    pub(super) sent: Sending,
    pub(super) then: Then,
}

impl Action {
    /// Returns true if only a user may do it who gave the password a short while ago: it hands something out, or destroys
    /// something, which outlives a session that was stolen.
    pub(super) fn is_guarded(&self, page: &Page) -> bool {
        page.guarded || self.method == Method::DELETE || CONFIRMED.contains(&self.name)
    }
}

/// What an operation is sent.
pub(super) enum Sending {
    Nothing,
    Fields(&'static [Field]),
    /// The file of the form, as it is. The form's other fields are for the target.
    File,
    /// The operation is called for each object that was chosen. A checkbox [`CHOSEN`] says which one it is: the values of
    /// these parts of the target, with slashes between them.
    Each(&'static [&'static str], &'static [Field]),
}

/// The checkboxes of [`Sending::Each`].
pub(super) const CHOSEN: &str = "chosen";

/// What follows if the operation did what it was asked.
pub(super) enum Then {
    /// Another page; `:new` is the id of what was made or imported, `?name` what the address of the form says. It says this.
    To(&'static str, &'static str),
    /// The page of the form with the answer: it has a secret that is shown once.
    Show,
    /// The same, with what the form had: it was tried, and can be done now.
    Tried,
}

/// A file.
pub(super) struct Download {
    pub(super) path: &'static str,
    /// What is called; see `call::fill`.
    pub(super) target: &'static str,
}

/// Adds a client.
const CLIENT_FIELDS: &[Field] = &[
    Field("name", Kind::Text),
    Field("industry", Kind::Text),
    Field("employeeCount", Kind::Number),
    Field("settings.frameworks", Kind::SeveralIfAny),
];

/// The client that a page is about.
const CLIENT: Read = read("client", "/api/clients/:client");

/// All pages.
pub(super) fn pages() -> impl Iterator<Item = &'static Page> {
    [
        portfolio::PAGES,
        batch::PAGES,
        risk::PAGES,
        client::PAGES,
        connections::PAGES,
        settings::PAGES,
    ]
    .into_iter()
    .flatten()
}

/// All that can be done.
pub(super) fn actions() -> impl Iterator<Item = &'static Action> {
    [
        portfolio::ACTIONS,
        batch::ACTIONS,
        risk::ACTIONS,
        client::ACTIONS,
        client_settings::ACTIONS,
        connections::ACTIONS,
        settings::ACTIONS,
    ]
    .into_iter()
    .flatten()
}

/// All files.
pub(super) fn downloads() -> impl Iterator<Item = &'static Download> {
    DOWNLOADS.iter()
}

const DOWNLOADS: &[Download] = &[
    Download {
        path: "/clients/:client/files/frameworks/:framework",
        target: "/api/clients/:client/reports/:framework?format=?format&language=?language",
    },
    Download {
        path: "/clients/:client/files/report",
        target: "/api/clients/:client/reports/posture?format=?format&language=?language",
    },
    Download {
        path: "/clients/:client/evidence/:evidence/file",
        target: "/api/clients/:client/evidence/:evidence/file",
    },
    Download { path: "/clients/:client/files/export", target: "/api/clients/:client/export" },
    Download { path: "/microsoft-app/certificate", target: "/api/microsoft-app/certificate" },
    Download { path: "/files/logo", target: "/api/logo" },
    Download {
        path: "/files/portfolio",
        target: "/api/portfolio/report?format=?format&language=?language",
    },
];

/// What was done in place of the import of a file that was imported before.
pub(super) const KNOWN_FILE: &str = "find-import";

/// What a page says after an action of this name.
pub(super) fn done(name: &str) -> Option<&'static str> {
    if name == "change-password" {
        return Some("Your password is changed, and all other sessions of yours have ended.");
    }
    if name == KNOWN_FILE {
        return Some("This file was imported before. Nothing changed.");
    }
    match actions().find(|it| it.name == name)?.then {
        Then::To(_, said) => Some(said),
        Then::Show | Then::Tried => None,
    }
}

/// Read for every page.
const fn read(name: &'static str, target: &'static str) -> Read {
    Read { name, target, need: Need::Always }
}

/// Read only if the page's query has a value of this name. Otherwise the template finds nothing.
const fn read_if(name: &'static str, given: &'static str, target: &'static str) -> Read {
    Read { name, target, need: Need::IfAsked(given) }
}

/// Read for every page, though there may be no such thing.
const fn read_if_there(name: &'static str, target: &'static str) -> Read {
    Read { name, target, need: Need::IfThere }
}
