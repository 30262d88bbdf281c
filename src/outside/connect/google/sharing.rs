//! What can be shared with outsiders (DAT-04), and who may invite them (ID-14).

use super::setting::{
    CALENDAR, CHAT, CHAT_FILES, CHAT_OUTSIDE, DRIVE, DRIVE_LISTED_VISITORS, DRIVE_MODE,
    DRIVE_PUBLISHING, DRIVE_VISITORS, Field, GROUPS, GROUPS_ACCESS, GROUPS_OUTSIDERS,
    PRIMARY_CALENDAR, SECONDARY_CALENDAR,
};
use super::survey::{Question, Who};
use super::tenant::Settings;

pub(super) const DRIVE_LINKS: Question = Question {
    control: "DAT-04",
    check: "drive_links",
    who: Who::Everyone,
    service: Some(DRIVE),
    kinds: &[DRIVE_MODE.kind, DRIVE.kind],
    passes: |here| match here.word(&DRIVE_MODE)? {
        "DISALLOWED" => Some(true),
        "ALLOWED" | "ALLOWLISTED_DOMAINS" => here.flag(&DRIVE_PUBLISHING).map(|it| !it),
        _ => None,
    },
    gap: "Users may open files to anyone with the link",
    remedy: "Turn this off under Apps > Google Workspace > Drive and Docs > Sharing settings.",
};

pub(super) const DRIVE_GUESTS: Question = Question {
    check: "drive_visitors",
    passes: |here| match here.word(&DRIVE_MODE)? {
        "DISALLOWED" => Some(true),
        "ALLOWED" => here.flag(&DRIVE_VISITORS).map(|it| !it),
        "ALLOWLISTED_DOMAINS" => here.flag(&DRIVE_LISTED_VISITORS).map(|it| !it),
        _ => None,
    },
    gap: "Users may share files with people who do not sign in with a Google account",
    ..DRIVE_LINKS
};

pub(super) const PRIMARY_CALENDARS: Question = Question {
    control: "DAT-04",
    check: "primary_calendars",
    who: Who::Everyone,
    service: Some(CALENDAR),
    kinds: &[PRIMARY_CALENDAR.kind, CALENDAR.kind],
    passes: |here| is_free_busy(here, &PRIMARY_CALENDAR),
    gap: "Users may share details of their primary calendars with outsiders",
    remedy: "Limit this to free and busy times under Apps > Google Workspace > Calendar > Sharing settings.",
};

pub(super) const SECONDARY_CALENDARS: Question = Question {
    check: "secondary_calendars",
    kinds: &[SECONDARY_CALENDAR.kind, CALENDAR.kind],
    passes: |here| is_free_busy(here, &SECONDARY_CALENDAR),
    gap: "Users may share details of secondary calendars with outsiders",
    ..PRIMARY_CALENDARS
};

pub(super) const CHAT_SHARING: Question = Question {
    control: "DAT-04",
    check: "chat_files",
    who: Who::Everyone,
    service: Some(CHAT),
    kinds: &[CHAT_FILES.kind, CHAT_OUTSIDE.kind, CHAT.kind],
    passes: |here| match here.word(&CHAT_FILES) {
        Some("NO_FILES") => Some(true),
        Some("ALL_FILES" | "IMAGES_ONLY") => here.flag(&CHAT_OUTSIDE).map(|it| !it),
        _ => here.flag(&CHAT_OUTSIDE).filter(|it| !it).map(|it| !it),
    },
    gap: "Users may send files to outsiders in Chat",
    remedy: "Turn this off under Apps > Google Workspace > Google Chat > Chat file sharing.",
};

pub(super) const GROUP_ACCESS: Question = Question {
    control: "DAT-04",
    check: "group_access",
    who: Who::Everyone,
    service: Some(GROUPS),
    kinds: &[GROUPS_ACCESS.kind, GROUPS.kind],
    passes: |here| match here.word(&GROUPS_ACCESS)? {
        "DOMAIN_USERS_ONLY" => Some(true),
        "ANYONE_CAN_ACCESS" => Some(false),
        _ => None,
    },
    gap: "Groups can be open to the whole internet",
    remedy: "Make groups private under Apps > Google Workspace > Groups for Business > Sharing settings.",
};

pub(super) const GROUP_GUESTS: Question = Question {
    control: "ID-14",
    check: "group_guests",
    kinds: &[GROUPS_OUTSIDERS.kind, GROUPS.kind],
    passes: |here| here.flag(&GROUPS_OUTSIDERS).map(|it| !it),
    gap: "Owners of groups may add people from outside",
    remedy: "Leave this to administrators under Apps > Google Workspace > Groups for Business > Sharing settings.",
    ..GROUP_ACCESS
};

fn is_free_busy(here: Settings<'_>, calendar: &Field) -> Option<bool> {
    match here.word(calendar)? {
        "EXTERNAL_FREE_BUSY_ONLY" => Some(true),
        "EXTERNAL_ALL_INFO_READ_ONLY"
        | "EXTERNAL_ALL_INFO_READ_WRITE"
        | "EXTERNAL_ALL_INFO_READ_WRITE_MANAGE" => Some(false),
        _ => None,
    }
}
