//! The pages of the console and what can be done on them, by the part of the product that they are about.

mod client;
mod portfolio;
mod settings;

use super::action::{Action, Then};
use super::download::Download;
use super::page::{Need, Page, Read};

/// All pages.
pub(super) fn pages() -> impl Iterator<Item = &'static Page> {
    [portfolio::PAGES, client::PAGES, settings::PAGES].into_iter().flatten()
}

/// All that can be done.
pub(super) fn actions() -> impl Iterator<Item = &'static Action> {
    [portfolio::ACTIONS, client::ACTIONS, settings::ACTIONS].into_iter().flatten()
}

/// All files.
pub(super) fn downloads() -> impl Iterator<Item = &'static Download> {
    DOWNLOADS.iter()
}

const DOWNLOADS: &[Download] = &[
    Download {
        path: "/clients/:client/files/frameworks/:framework",
        target: "/api/clients/:client/reports/:framework?format=?format",
    },
    Download { path: "/clients/:client/files/export", target: "/api/clients/:client/export" },
    Download { path: "/files/portfolio", target: "/api/portfolio/report?format=?format" },
];

/// What a page says after an action of this name.
pub(super) fn done(name: &str) -> Option<&'static str> {
    if name == "change-password" {
        return Some("Your password is changed, and all other sessions of yours have ended.");
    }
    match actions().find(|it| it.name == name)?.then {
        Then::To(_, said) => Some(said),
        Then::Show => None,
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
