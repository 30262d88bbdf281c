//! A client's settings: the JSON object as given, and what its known members mean.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use ipnetwork::IpNetwork;
use serde_json::{Map, Value, json};

use crate::app::client::retention::{RETENTION, Retention};
use crate::app::input::refuse_invisible;
use crate::auth::network;
use crate::clock::Time;
use crate::clock::zone::{ZONE_RULE, Zone};
use crate::engine::catalog::Catalog;
use crate::engine::fact::{Profile, UNUSED_DAYS, Usage};
use crate::engine::framework::FrameworkId;
use crate::error::{Error, Result};
use crate::store::per_client::statement::{StatedAnswer, StatementRecord};
use crate::text::looks;

/// A settings object longer than this in JSON is refused.
pub const SETTINGS_BYTES_MAX: usize = 64 * 1024;

/// More networks are refused.
pub const N_SCAN_NETWORKS_MAX: usize = 50;
/// The member with the networks that are the client's.
pub const SCAN_NETWORKS: &str = "scanNetworks";

/// The member with the client's time zone.
const TIME_ZONE: &str = "timeZone";

/// The member with the answers to the catalog's profile questions.
pub const PROFILE: &str = "profile";

/// More tags, or longer ones, are refused.
const N_TAGS_MAX: usize = 20;
const TAG_CHARS_MAX: usize = 64;

/// The values of settings that a client does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defaults {
    pub dormant_after_days: u16,
    pub evidence_warning_days: u16,
    pub stale_asset_days: u16,
    /// For how many days a member of the estate is new. No client has its own.
    pub new_member_days: u16,
    pub retention: Retention,
}

/// For how many days a member may be new. 0: nothing is new.
pub const NEW_MEMBER_DAYS: RangeInclusive<u32> = 0..=30;

impl Default for Defaults {
    fn default() -> Self {
        Self {
            dormant_after_days: 90,
            evidence_warning_days: 30,
            stale_asset_days: 30,
            new_member_days: 7,
            retention: Retention::default(),
        }
    }
}

/// Scores whose crossing is announced when the client names none.
pub const SCORE_THRESHOLDS: [u8; 4] = [60, 70, 80, 90];

/// An answer to a question of the profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered<'a> {
    pub question: &'a str,
    pub usage: Usage,
    /// Who gave it, and when. Empty and `None`: it is `unknown`, or was not kept.
    pub by: &'a str,
    pub at: Option<Time>,
}

/// The settings of one client, read.
#[derive(Clone, Debug)]
pub struct Settings(Map<String, Value>);

impl Settings {
    /// Reads what [`change`] wrote. Anything else reads as empty.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self(serde_json::from_str(text).unwrap_or_default())
    }

    /// Returns the answers to the catalog's profile questions.
    #[must_use]
    pub fn profile(&self) -> Profile {
        let Some(Value::Object(answers)) = self.0.get(PROFILE) else { return Profile::new() };
        answers.iter().map(|(question, answer)| (question.clone(), usage(answer))).collect()
    }

    /// Returns the answers to the catalog's profile questions, with who gave them.
    pub fn answers(&self) -> impl Iterator<Item = Answered<'_>> {
        let given = self.0.get(PROFILE).and_then(Value::as_object);
        given.into_iter().flatten().map(|(question, answer)| {
            let text = |name| answer.get(name).and_then(Value::as_str);
            Answered {
                question,
                usage: usage(answer),
                by: text("by").unwrap_or_default(),
                at: text("at").and_then(|it| it.parse().ok()),
            }
        })
    }

    #[must_use]
    pub fn score_thresholds(&self) -> Vec<u8> {
        let given = self.0.get("scoreThresholds").and_then(Value::as_array);
        given.map_or_else(
            || SCORE_THRESHOLDS.to_vec(),
            |all| {
                all.iter()
                    .filter_map(Value::as_u64)
                    .filter_map(|it| u8::try_from(it).ok())
                    .collect()
            },
        )
    }

    /// Returns the frameworks that the client must meet. Default: those of the contract.
    #[must_use]
    pub fn frameworks(&self) -> Vec<FrameworkId> {
        let given = self.0.get("frameworks").and_then(Value::as_array);
        given.map_or_else(
            || FrameworkId::CONTRACT.to_vec(),
            |all| all.iter().filter_map(|it| it.as_str()?.parse().ok()).collect(),
        )
    }

    fn days(&self, name: &str, default: u16) -> u16 {
        let given = self.0.get(name).and_then(Value::as_u64);
        given.and_then(|it| u16::try_from(it).ok()).unwrap_or(default)
    }

    #[must_use]
    pub fn stale_asset_days(&self, defaults: &Defaults) -> u16 {
        self.days("staleAssetDays", defaults.stale_asset_days)
    }

    #[must_use]
    pub fn evidence_warning_days(&self, defaults: &Defaults) -> u16 {
        self.days("evidenceWarningDays", defaults.evidence_warning_days)
    }

    #[must_use]
    pub fn dormant_after_days(&self, defaults: &Defaults) -> u16 {
        self.days("dormantAfterDays", defaults.dormant_after_days)
    }

    /// Returns how long what ended is kept.
    #[must_use]
    pub fn retention(&self, defaults: &Defaults) -> Retention {
        let given = self.0.get(RETENTION).map(Retention::given).unwrap_or_default();
        given.over(defaults.retention)
    }

    /// Returns where the client's days end. `None`: where those of the service provider do.
    #[must_use]
    pub fn time_zone(&self) -> Option<Zone> {
        Zone::named(self.0.get(TIME_ZONE)?.as_str()?)
    }

    /// Returns the names of sanctioned apps, in lower case.
    #[must_use]
    pub fn sanctioned_apps(&self) -> Vec<String> {
        let given = self.0.get("sanctionedApps").and_then(Value::as_array);
        given.into_iter().flatten().filter_map(Value::as_str).map(str::to_lowercase).collect()
    }

    /// Returns the networks that are the client's, which those may have scanned who are limited to it.
    #[must_use]
    pub fn scan_networks(&self) -> Vec<IpNetwork> {
        let given = self.0.get(SCAN_NETWORKS).and_then(Value::as_array);
        given.into_iter().flatten().filter_map(|it| it.as_str()?.parse().ok()).collect()
    }

    /// Returns the words by which the service provider sorts its clients.
    #[must_use]
    pub fn tags(&self) -> Vec<&str> {
        let given = self.0.get("tags").and_then(Value::as_array);
        given.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// Returns the settings as shown: the client's own members on top of the defaults. `zone`: where the days of the service
    /// provider end.
    #[must_use]
    pub fn effective(&self, defaults: &Defaults, zone: &Zone) -> Value {
        let mut shown = Map::new();
        let frameworks = FrameworkId::CONTRACT.map(FrameworkId::embedded_str);
        shown.insert(PROFILE.into(), json!({}));
        shown.insert("frameworks".into(), json!(frameworks));
        shown.insert("scoreThresholds".into(), json!(SCORE_THRESHOLDS));
        shown.insert("dormantAfterDays".into(), json!(defaults.dormant_after_days));
        shown.insert("evidenceWarningDays".into(), json!(defaults.evidence_warning_days));
        shown.insert("staleAssetDays".into(), json!(defaults.stale_asset_days));
        shown.insert("sanctionedApps".into(), json!([]));
        shown.insert("tags".into(), json!([]));
        shown.insert(SCAN_NETWORKS.into(), json!([]));
        shown.insert(TIME_ZONE.into(), json!(zone.name()));
        shown.extend(self.0.clone());
        shown.insert(RETENTION.into(), self.retention(defaults).shown());
        Value::Object(shown)
    }
}

fn usage(answer: &Value) -> Usage {
    let word = answer.get("usage").and_then(Value::as_str);
    match word {
        Some("used") => Usage::Used,
        Some("unused") => {
            let by = answer.get("by").and_then(Value::as_str).unwrap_or_default().to_owned();
            let until = answer.get("until").and_then(Value::as_str).and_then(|it| it.parse().ok());
            Usage::Unused { by, until: until.unwrap_or(Time::EPOCH) }
        }
        _ => Usage::Unknown,
    }
}

/// Returns the settings after a change: members of `patch` replace those of `current`, null removes a member, and the
/// answers in the profile are merged one by one. Known members are checked, and unknown ones are stored as given.
///
/// # Errors
/// `Invalid` with the member and its rule.
pub fn change(
    current: &str,
    patch: &Map<String, Value>,
    catalog: &Catalog,
    by: &str,
    now: Time,
) -> Result<String> {
    let mut settings = Settings::of(current).0;
    for (name, value) in patch {
        if value.is_null() {
            settings.remove(name);
            continue;
        }
        let value = match name.as_str() {
            PROFILE => merged_profile(settings.get(PROFILE), value, catalog, by, now)?,
            "scoreThresholds" => thresholds(value)?,
            "dormantAfterDays" | "evidenceWarningDays" | "staleAssetDays" => days(name, value)?,
            RETENTION => Retention::checked(value).map_err(|rule| refused(RETENTION, rule))?,
            TIME_ZONE => time_zone(value)?,
            "frameworks" => frameworks(value, catalog)?,
            "sanctionedApps" => texts(name, value)?,
            "tags" => tags(value)?,
            SCAN_NETWORKS => scan_networks(value)?,
            _ => value.clone(),
        };
        settings.insert(name.clone(), value);
    }
    let text = Value::Object(settings).to_string();
    if SETTINGS_BYTES_MAX < text.len() {
        let rule = format!("must be at most {SETTINGS_BYTES_MAX} bytes of JSON");
        return Err(Error::invalid_field("settings", rule));
    }
    Ok(text)
}

/// Returns the settings with the answer that a record holds. `None`: without an answer to the question.
#[must_use]
pub fn with_answer(current: &str, question: &str, record: Option<&StatementRecord>) -> String {
    let mut settings = Settings::of(current).0;
    let mut profile = settings.get(PROFILE).and_then(Value::as_object).cloned().unwrap_or_default();
    profile.remove(question);
    if let Some((record, content)) = record.and_then(|it| Some((it, it.content()?))) {
        let mut answer = json!({"usage": content.answer.as_str()});
        if content.answer != StatedAnswer::Unknown {
            answer["by"] = json!(record.author.by);
            answer["at"] = json!(content.from.to_string());
        }
        if let Some(until) = content.until {
            answer["until"] = json!(until.to_string());
        }
        profile.insert(question.to_owned(), answer);
    }
    settings.insert(PROFILE.to_owned(), Value::Object(profile));
    Value::Object(settings).to_string()
}

fn refused(name: &str, rule: impl Into<String>) -> Error {
    Error::invalid_field(format!("settings.{name}"), rule)
}

fn merged_profile(
    current: Option<&Value>,
    patch: &Value,
    catalog: &Catalog,
    by: &str,
    now: Time,
) -> Result<Value> {
    let answers = patch.as_object().ok_or_else(|| refused("profile", "must be an object"))?;
    let known = questions(catalog);
    let mut profile = current.and_then(Value::as_object).cloned().unwrap_or_default();
    for (question, answer) in answers {
        if !known.contains(question.as_str()) {
            let list = known.iter().copied().collect::<Vec<_>>().join(", ");
            let rule = format!("unknown question; must be one of {list}");
            return Err(refused(&format!("profile.{question}"), rule));
        }
        if profile.get(question) == Some(answer) {
            continue; // The caller sent back what `settings` shows. It is not a new answer.
        }
        let word = answer.as_str().or_else(|| answer.get("usage").and_then(Value::as_str));
        let stamped = match word {
            Some("used") => json!({"usage": "used", "by": by, "at": now.to_string()}),
            Some("unused") => json!({
                "usage": "unused", "by": by, "at": now.to_string(),
                "until": now.plus_days(UNUSED_DAYS).to_string(),
            }),
            Some("unknown") => json!({"usage": "unknown"}),
            _ => {
                let rule = "must be one of used, unused, unknown";
                return Err(refused(&format!("profile.{question}"), rule));
            }
        };
        profile.insert(question.clone(), stamped);
    }
    Ok(Value::Object(profile))
}

/// Returns every question that a control or a row of the catalog asks of a profile.
fn questions(catalog: &Catalog) -> BTreeSet<&str> {
    let platforms = catalog.controls.iter().flat_map(|it| &it.platforms);
    let rows = catalog.frameworks.iter().flat_map(|it| &it.rows);
    platforms.chain(rows.filter_map(|it| it.applies.as_ref())).map(String::as_str).collect()
}

fn thresholds(value: &Value) -> Result<Value> {
    let rule = "must be an array of at most 10 rising integers from 1 to 100";
    let numbers: Option<Vec<u64>> =
        value.as_array().and_then(|all| all.iter().map(Value::as_u64).collect());
    match numbers {
        Some(all)
            if all.len() <= 10
                && all.is_sorted_by(|a, b| a < b)
                && all.iter().all(|it| (1..=100).contains(it)) =>
        {
            Ok(value.clone())
        }
        _ => Err(refused("scoreThresholds", rule)),
    }
}

fn days(name: &str, value: &Value) -> Result<Value> {
    match value.as_u64() {
        Some(1..=3_650) => Ok(value.clone()),
        _ => Err(refused(name, "must be an integer from 1 to 3650")),
    }
}

fn time_zone(value: &Value) -> Result<Value> {
    let zone = value.as_str().and_then(Zone::named);
    zone.map(|it| json!(it.name())).ok_or_else(|| refused(TIME_ZONE, ZONE_RULE))
}

fn frameworks(value: &Value, catalog: &Catalog) -> Result<Value> {
    let texts = texts("frameworks", value)?;
    for text in texts.as_array().into_iter().flatten().filter_map(Value::as_str) {
        let known = catalog.framework_named(text);
        known.map_err(|it| refused("frameworks", it.message().to_owned()))?;
    }
    Ok(texts)
}

fn tags(value: &Value) -> Result<Value> {
    let all = texts("tags", value)?;
    let tags: Vec<&str> = all.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let is_word = |it: &&str| !it.trim().is_empty() && it.chars().count() <= TAG_CHARS_MAX;
    if N_TAGS_MAX < tags.len() || !tags.iter().all(is_word) {
        let rule = format!("must be at most {N_TAGS_MAX} texts of 1 to {TAG_CHARS_MAX} characters");
        return Err(refused("tags", rule));
    }
    for tag in &tags {
        refuse_invisible("settings.tags", tag)?;
    }
    let mut all_looks: Vec<String> = tags.iter().flat_map(|it| looks(it)).collect();
    all_looks.sort_unstable();
    if all_looks.windows(2).any(|it| it[0] == it[1]) {
        return Err(refused("tags", "must not have two tags that look the same"));
    }
    Ok(all)
}

fn scan_networks(value: &Value) -> Result<Value> {
    let all = texts(SCAN_NETWORKS, value)?;
    let named: Vec<&str> = all.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if N_SCAN_NETWORKS_MAX < named.len() {
        let rule = format!("must have at most {N_SCAN_NETWORKS_MAX} networks");
        return Err(refused(SCAN_NETWORKS, rule));
    }
    for text in named {
        network::parse(text).map_err(|it| refused(SCAN_NETWORKS, it.message().to_owned()))?;
    }
    Ok(all)
}

fn texts(name: &str, value: &Value) -> Result<Value> {
    let all = value.as_array().filter(|it| it.iter().all(Value::is_string));
    all.map(|_| value.clone()).ok_or_else(|| refused(name, "must be an array of strings"))
}
