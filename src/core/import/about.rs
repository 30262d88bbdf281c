//! Reports about one thing: a tenant, a domain or a host, which is the subject of each of their checks.

use super::text::{
    self, DETAIL_CHARS_MAX, NAME_CHARS_MAX, OrSkipped, TITLE_CHARS_MAX, WHY_CHARS_MAX,
};
use super::{Check, CheckOutcome, CheckSubject, Record};
use crate::clock::Time;
use crate::engine::asset::{AssetType, ReportedFields, Seen};
use crate::engine::fact::REMEDIATION_CHARS_MAX;
use crate::engine::severity::Severity;
use crate::error::{Error, Result};

/// Longer words in place of a result are cut.
const RESULT_CHARS_MAX: usize = 40;

/// What a report is about.
#[derive(Debug)]
pub(super) struct About {
    pub(super) scope: String,
    pub(super) subject: CheckSubject,
    /// `None`: the report does not say.
    pub(super) observed_at: Option<Time>,
}

/// One result. Texts are empty where the report has none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told<'a> {
    pub(super) outcome: CheckOutcome,
    pub(super) severity: Severity,
    pub(super) title: &'a str,
    pub(super) remediation: &'a str,
    pub(super) detail: &'a str,
}

impl About {
    /// `kind`: the first part of the scope, such as `m365`. `id` is the tenant, domain or host.
    ///
    /// # Errors
    /// `Invalid` if it has no usable id.
    pub(super) fn new(
        kind: &str,
        id: &str,
        names: &[&str],
        observed_at: Option<Time>,
    ) -> Result<Self> {
        let wrong = |reason: String| {
            Error::invalid(format!("it is not known what the report is about: {reason}"))
        };
        let id = text::id(id, "id").map_err(wrong)?;
        let scope = text::id(&format!("{kind}/{id}"), "scope").map_err(wrong)?;
        let name = names.iter().find_map(|it| text::some_line(it, NAME_CHARS_MAX));
        let name = name.unwrap_or_else(|| text::line(&id, NAME_CHARS_MAX));
        Ok(Self { scope, subject: CheckSubject::of(id, name), observed_at })
    }

    /// What the report is about, as an asset: a host.
    pub(super) fn host(
        &self,
        asset_type: AssetType,
        hostname: Option<String>,
        ip: Option<String>,
        mac: Option<String>,
    ) -> Seen {
        Seen {
            external_id: self.subject.id.clone(),
            name: self.subject.name.clone(),
            category: Some("host".to_owned()),
            asset_type,
            is_managed: false,
            hostname: hostname.and_then(|it| text::id(&it, "host name").ok()),
            ip,
            mac,
            serial: None,
            scope: self.scope.clone(),
            seen_at: self.observed_at,
            reported: ReportedFields::default(),
        }
    }

    /// Hands out the records of result number `at`.
    ///
    /// # Errors
    /// Whatever `records` returns.
    pub(super) fn tell(
        &self,
        at: u64,
        check: &str,
        told: OrSkipped<Told<'_>>,
        records: &mut dyn FnMut(Record) -> Result<()>,
    ) -> Result<()> {
        let check = match text::id(check, "check id") {
            Ok(check) => check,
            Err(reason) => return records(Record::Skipped { at, reason }),
        };
        match told {
            Ok(told) => records(Record::Check(self.check(check, told))),
            Err(reason) => {
                let (scope, observed_at) = (self.scope.clone(), self.observed_at);
                records(Record::Silent { scope, tool: None, check, observed_at })?;
                records(Record::Skipped { at, reason })
            }
        }
    }

    fn check(&self, check: String, told: Told<'_>) -> Check {
        Check {
            scope: self.scope.clone(),
            tool: None,
            outcome: told.outcome,
            severity: told.severity,
            title: text::some_line(told.title, TITLE_CHARS_MAX).unwrap_or_else(|| check.clone()),
            check,
            remediation: text::some_block(told.remediation, REMEDIATION_CHARS_MAX),
            detail: text::some_line(told.detail, DETAIL_CHARS_MAX),
            subject: self.subject.clone(),
            observed_at: self.observed_at,
        }
    }
}

/// The reason to skip a word that is no result.
pub(super) fn no_result(word: &str, why: &str) -> String {
    match text::some_line(word, RESULT_CHARS_MAX) {
        None => "missing result".to_owned(),
        Some(word) => format!("result {word}: {}", text::line(why, WHY_CHARS_MAX)),
    }
}

/// The id of a tenant in lower case, if it is a GUID.
pub(super) fn guid(text: &str) -> Option<String> {
    let text = text.trim();
    (text.len() == 36 && uuid::Uuid::try_parse(text).is_ok()).then(|| text.to_lowercase())
}

/// `Info` and `Informational` are low. A word that is not known is medium.
pub(super) fn severity(word: &str) -> Severity {
    match word.trim().to_ascii_lowercase().as_str() {
        "critical" => Severity::Critical,
        "high" => Severity::High,
        "low" | "info" | "informational" => Severity::Low,
        _ => Severity::Medium,
    }
}
