//! Names in the watch folder: which files are taken, whose they are, and what they are called afterwards.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;

use crate::id::ClientId;
use crate::store::global::client::{Client, ClientState};
use crate::text::{LookIndex, visible};

/// Ends the name of the file that says why another one failed.
pub(super) const REASON_END: &str = ".reason.txt";
/// How a name ends that is not taken: an upload in progress, or a reason that was moved back with its file.
const ENDS_LEFT_ALONE: [&str; 4] = [".part", ".tmp", ".filepart", REASON_END];
/// Longer names are cut when their file is moved, so that a number and [`REASON_END`] fit behind them.
const NAME_BYTES_MAX: usize = 230;
/// Ids that the problem of an ambiguous name lists.
const N_IDS_MAX: usize = 10;

/// Where a file waits: the name of its folder in the watch folder, and its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub folder: OsString,
    pub file: OsString,
}

impl Place {
    pub(super) fn shown(&self) -> String {
        format!("{}/{}", shown(&self.folder), shown(&self.file))
    }
}

/// A name for the log.
pub(super) fn shown(name: &OsStr) -> String {
    visible(&name.to_string_lossy()).into_owned()
}

pub(super) fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// Returns true if a file of this name is taken once it is finished.
pub(super) fn is_taken(name: &OsStr) -> bool {
    let lower = name.as_encoded_bytes().to_ascii_lowercase();
    !is_hidden(name) && !ENDS_LEFT_ALONE.iter().any(|it| lower.ends_with(it.as_bytes()))
}

/// The name with a number in it, such as `report-2.json`. The first one is the name itself, unless it is too long.
pub(super) fn numbered(name: &OsStr, number: u32) -> OsString {
    let name = shortened(name);
    if number == 1 {
        return name;
    }
    let path = Path::new(&name);
    let mut numbered = path.file_stem().unwrap_or(&name).to_owned();
    numbered.push(format!("-{number}"));
    if let Some(end) = path.extension() {
        numbered.push(".");
        numbered.push(end);
    }
    numbered
}

fn shortened(name: &OsStr) -> OsString {
    if name.len() <= NAME_BYTES_MAX {
        return name.to_owned();
    }
    let mut short = String::new();
    for character in name.to_string_lossy().chars() {
        if NAME_BYTES_MAX < short.len() + character.len_utf8() {
            break;
        }
        short.push(character);
    }
    short.into()
}

/// All clients, by what a folder of theirs is called.
pub(super) struct Owners {
    by_id: HashMap<ClientId, Arc<Client>>,
    by_name: LookIndex<ClientId>,
}

impl Owners {
    pub(super) fn of(clients: Vec<Arc<Client>>) -> Self {
        let mut owners = Self { by_id: HashMap::new(), by_name: LookIndex::default() };
        for client in clients.into_iter().filter(|it| it.state != ClientState::Erasing) {
            owners.by_name.put(&client.name, client.id);
            owners.by_id.insert(client.id, client);
        }
        owners
    }

    /// The active client whose id or name the folder has. Of several whose names look the same, none is preferred: a client must
    /// not get the files of another one by a change of its name.
    ///
    /// # Errors
    /// Why there is none, and what to do.
    pub(super) fn find(&self, folder: &OsStr) -> Result<ClientId, String> {
        let unknown = || {
            "no client has this id or name; rename the folder, or add the client. `posture client list` shows all".to_owned()
        };
        let name = folder.to_str().ok_or_else(unknown)?;
        let of_id = name.parse().ok().and_then(|it: ClientId| self.by_id.get(&it));
        let of_name = self.by_name.find(name);
        let found: Vec<&Arc<Client>> = match of_id {
            Some(client) => vec![client],
            None => of_name.iter().filter_map(|it| self.by_id.get(it)).collect(),
        };
        match &found[..] {
            [] => Err(unknown()),
            [client] if client.state == ClientState::Active => Ok(client.id),
            [_] => Err("the client is inactive; activate it, or remove the files".to_owned()),
            several => Err(ambiguous(several)),
        }
    }
}

fn ambiguous(several: &[&Arc<Client>]) -> String {
    let ids: Vec<String> = several.iter().take(N_IDS_MAX).map(|it| it.id.to_string()).collect();
    let more = if ids.len() < several.len() { ", ..." } else { "" };
    let n = several.len();
    format!(
        "{n} clients have this name, or one that looks like it; give the folder the id of one: {}{more}",
        ids.join(", ")
    )
}
