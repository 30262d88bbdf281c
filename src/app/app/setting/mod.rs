//! The options of the service: what the configuration says, and what administrators set in its place.

pub mod mail;
mod reason;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::{Arc, PoisonError, RwLock};

pub use reason::why_in_file;
use serde_json::Value;

use crate::app::App;
use crate::app::backup::BackupSettings;
use crate::app::client::settings::Settings as ClientSettings;
use crate::app::report::document::Letterhead;
use crate::auth::caller::Caller;
use crate::blocking;
use crate::clock::Time;
use crate::clock::zone::{ZONE_RULE, Zone};
use crate::error::{Error, Result};
use crate::id::ClientId;
use crate::paper::{Language, Logo};
use crate::store::Batch;
use crate::store::global::client::Client;
use crate::store::global::setting::StoredSetting;

pub const MSP_NAME_CHARS: RangeInclusive<usize> = 1..=100;
/// At most a month.
pub const BACKUP_HOURS: RangeInclusive<u32> = 1..=744;
pub const N_BACKUPS: RangeInclusive<u32> = 1..=1_000;
pub const LANGUAGES: [(&str, Language); 2] = [("en", Language::English), ("fr", Language::French)];

pub const NAME: &str = "msp.name";
pub const LOGO: &str = "msp.logo";
/// A larger logo does not fit into a record of the database. A file that the configuration names may be larger.
pub const STORED_LOGO_BYTES_MAX: u64 = 240 * 1024;
pub const LANGUAGE: &str = "msp.language";
pub const TIME_ZONE: &str = "msp.time_zone";
pub const BACKUP_DIR: &str = "backup.dir";
pub const BACKUP_EVERY: &str = "backup.every_h";
pub const BACKUP_KEEP: &str = "backup.keep";
/// What can be set in place of the configuration. All else is for those who may change its file.
pub const KEYS: [&str; 7] =
    [NAME, LOGO, LANGUAGE, TIME_ZONE, BACKUP_DIR, BACKUP_EVERY, BACKUP_KEEP];
/// The only folder that can be chosen over the network: the one of this name in the data directory.
pub const OWN_FOLDER: &str = "backups";

/// An option of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configured {
    pub key: &'static str,
    /// In TOML. `None`: not set.
    pub value: Option<String>,
    /// File and line. `None`: it is the default.
    pub origin: Option<String>,
}

/// An option as it is in effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effective {
    pub key: &'static str,
    /// `None`: it is not set, or not shown.
    pub value: Option<String>,
    pub source: Source,
    /// Why it can be set in the file alone. `None`: it can be set here.
    pub why_in_file: Option<&'static str>,
}

/// Who set an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    Default,
    /// With the file and the line.
    File(String),
    /// In place of the configuration.
    Console {
        by: String,
        at: Time,
    },
}

/// What is set in place of the configuration, by key.
#[derive(Clone, Debug, Default)]
struct Set {
    rows: BTreeMap<String, StoredSetting>,
    logo: Option<Arc<Logo>>,
}

/// The values that are set in place of the configuration.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings(Arc<RwLock<Arc<Set>>>);

impl Settings {
    pub(super) fn of(rows: Vec<StoredSetting>) -> Self {
        let settings = Self::default();
        settings.replace_all(rows);
        settings
    }

    /// What cannot be used any more, by the rules of this release, does not count and is logged.
    pub(super) fn replace_all(&self, rows: Vec<StoredSetting>) {
        let (before, mut set) = (self.now(), Set::default());
        for row in rows {
            // What did not change was checked: a picture takes long.
            if before.rows.get(&row.key).is_some_and(|it| it.value == row.value) {
                if row.key == LOGO {
                    set.logo.clone_from(&before.logo);
                }
                set.rows.insert(row.key.clone(), row);
                continue;
            }
            match check(&row.key, &row.value) {
                Ok(logo) => {
                    set.logo = logo.map(Arc::new).or(set.logo);
                    set.rows.insert(row.key.clone(), row);
                }
                Err(error) => tracing::error!(
                    "the setting `{}` of the console does not count: {}",
                    row.key,
                    error.message()
                ),
            }
        }
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(set);
    }

    fn now(&self) -> Arc<Set> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Set {
    fn text(&self, key: &str) -> Option<&str> {
        self.rows.get(key).and_then(|it| std::str::from_utf8(&it.value).ok())
    }

    /// As [`Effective`] has it. `None`: it is not set here.
    fn option(&self, key: &str) -> Option<(Option<String>, Source)> {
        let row = self.rows.get(key)?;
        let value = if key == LOGO {
            Some(format!("({} bytes)", row.value.len()))
        } else {
            self.text(key).map(|it| as_toml(it, it.parse::<u32>().is_ok()))
        };
        Some((value, Source::Console { by: row.by.clone(), at: row.at }))
    }

    fn number(&self, key: &str) -> Option<u32> {
        self.text(key)?.parse().ok()
    }
}

/// Checks a value by the rule of its option. Returns the logo, if it is one.
fn check(key: &str, value: &[u8]) -> Result<Option<Logo>> {
    let refused = |rule: String| Err(Error::invalid_field("value", rule));
    if key == LOGO {
        let logo = Logo::read(value.to_vec());
        return logo.map(Some).map_err(|rule| Error::invalid_field("file", rule));
    }
    let Ok(text) = std::str::from_utf8(value) else {
        return refused("must be text".to_owned());
    };
    let whole = |range: &RangeInclusive<u32>| match text.parse::<u32>() {
        Ok(n) if range.contains(&n) => Ok(None),
        Ok(_) | Err(_) => {
            refused(format!("must be a whole number from {} to {}", range.start(), range.end()))
        }
    };
    match key {
        NAME => {
            let is_line = text.trim() == text && !text.contains(char::is_control);
            if MSP_NAME_CHARS.contains(&text.chars().count()) && is_line {
                return Ok(None);
            }
            let (min, max) = (MSP_NAME_CHARS.start(), MSP_NAME_CHARS.end());
            refused(format!(
                "must be one line of {min} to {max} characters without leading or trailing spaces"
            ))
        }
        LANGUAGE if LANGUAGES.iter().any(|it| it.0 == text) => Ok(None),
        LANGUAGE => refused("must be en or fr".to_owned()),
        TIME_ZONE if Zone::named(text).is_some() => Ok(None),
        TIME_ZONE => refused(ZONE_RULE.to_owned()),
        BACKUP_DIR if text == OWN_FOLDER => Ok(None),
        BACKUP_DIR => refused(format!(
            "must be {OWN_FOLDER}, the folder of this name in the data directory; only posture.toml names another"
        )),
        BACKUP_EVERY => whole(&BACKUP_HOURS),
        BACKUP_KEEP => whole(&N_BACKUPS),
        _ => Err(unknown(key)),
    }
}

fn unknown(key: &str) -> Error {
    let why = why_in_file(key);
    Error::invalid_field(
        "key",
        format!("can be set in posture.toml alone, if there is such an option. {why}"),
    )
}

/// Without what may have a secret in it: the arguments of a program.
fn shown(configured: &Configured) -> Option<String> {
    let is_command = configured.key == "backup.after_command";
    let value = configured.value.clone()?;
    if is_command && value != "[]" { Some("[...]".to_owned()) } else { Some(value) }
}

/// As the configuration would have it.
fn as_toml(text: &str, is_number: bool) -> String {
    if is_number { text.to_owned() } else { toml::Value::from(text).to_string() }
}

impl App {
    /// Every option as it is in effect, in the order of the configuration.
    ///
    /// # Errors
    /// `Forbidden` if the caller may not access all clients.
    pub fn list_settings(&self, by: &Caller) -> Result<Vec<Effective>> {
        require_all_clients(by)?;
        let (set, mail) = (self.settings.now(), self.mailing.set());
        let effective = |it: &Configured| {
            let chosen = set.option(it.key).or_else(|| mail::option(mail.as_deref(), it.key));
            let (value, source) = chosen.unwrap_or_else(|| {
                let source = it.origin.clone().map_or(Source::Default, Source::File);
                (shown(it), source)
            });
            let why_in_file = (!KEYS.contains(&it.key)).then(|| why_in_file(it.key));
            Effective { key: it.key, value, source, why_in_file }
        };
        Ok(self.options.configured.iter().map(effective).collect())
    }

    /// Sets an option in place of the configuration, or with `None` goes back to that. It counts at once.
    ///
    /// # Errors
    /// `Forbidden` if the caller may not access all clients; `Invalid` about the key or the value.
    pub async fn set_setting(&self, by: &Caller, key: &str, value: Option<Vec<u8>>) -> Result<()> {
        require_all_clients(by)?;
        if !KEYS.contains(&key) {
            return Err(unknown(key));
        }
        let key = key.to_owned();
        let row = match value {
            None => None,
            Some(value) => {
                let (key, at) = (key.clone(), self.clock.now());
                let row = StoredSetting { key, value, by: by.name(), at };
                Some(blocking::run((), move || check(&row.key, &row.value).map(|_| row)).await?)
            }
        };
        let write = move |batch: &mut Batch| {
            match &row {
                Some(row) => batch.put_setting(row)?,
                None => drop(batch.remove_setting(&key)?),
            }
            batch.list_settings()
        };
        let settings = self.settings.clone();
        // In the order of the commits, and also if the caller has left.
        let put = move |rows: &Vec<StoredSetting>| settings.replace_all(rows.clone());
        by.acting_on(&self.store).write_then(write, put).await.map(|_| ())
    }

    /// What documents say of the managed service provider.
    pub fn letterhead(&self) -> Letterhead {
        let (set, file) = (self.settings.now(), &self.options.letterhead);
        let language = set.text(LANGUAGE);
        let language = language.and_then(|word| LANGUAGES.iter().find(|it| it.0 == word));
        Letterhead {
            name: set.text(NAME).map(str::to_owned).or_else(|| file.name.clone()),
            logo: set.logo.clone().or_else(|| file.logo.clone()),
            language: language.map_or(file.language, |it| it.1),
        }
    }

    /// Where the service provider's days end.
    pub fn time_zone(&self) -> Zone {
        let set = self.settings.now().text(TIME_ZONE).and_then(Zone::named);
        set.unwrap_or_else(|| self.options.time_zone.clone())
    }

    /// Where the days of a client end, or of the service provider if there is none, or if it has no zone of its own.
    pub fn time_zone_of(&self, client: impl Into<Option<ClientId>>) -> Zone {
        let own = client.into().and_then(|it| self.clients.directory.find(it));
        own.and_then(|it| ClientSettings::of(&it.settings).time_zone())
            .unwrap_or_else(|| self.time_zone())
    }

    /// A client's own settings on top of those of the service.
    pub fn effective_settings(&self, client: &Client) -> Value {
        let own = ClientSettings::of(&client.settings);
        own.effective(&self.options.settings, &self.time_zone())
    }

    /// When and where backups are made, and how many are kept.
    pub(super) fn backup_settings(&self) -> BackupSettings {
        self.settings.backup_settings(&self.options.backup)
    }
}

impl Settings {
    /// `file`: those of the configuration.
    pub(super) fn backup_settings(&self, file: &BackupSettings) -> BackupSettings {
        let (set, file) = (self.now(), file.clone());
        let own = set.text(BACKUP_DIR).and(file.own_dir.clone());
        BackupSettings {
            dir: own.or(file.dir),
            every_h: set.number(BACKUP_EVERY).unwrap_or(file.every_h),
            keep: set.number(BACKUP_KEEP).unwrap_or(file.keep),
            ..file
        }
    }
}

fn require_all_clients(by: &Caller) -> Result<()> {
    if by.allowed_clients().is_none() {
        return Ok(());
    }
    Err(Error::forbidden("the settings of the service are for those who may access all clients"))
}
