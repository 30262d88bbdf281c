//! CSV reports of `HardeningKitty`, about a computer with Windows. The file does not name it.

use std::collections::BTreeSet;
use std::io::BufRead;

use crate::engine::catalog::reference::with_references;
use crate::error::Result;
use crate::import::about::{About, Told, no_result, severity};
use crate::import::sheet::{self, Cells, has_columns};
use crate::import::text::{OrSkipped, slug};
use crate::import::{CheckOutcome, CheckSubject, Record};

const WHAT: &str = "HardeningKitty";
/// The columns without which nothing is known.
const COLUMNS: [&str; 5] = ["ID", "Name", "Severity", "Result", "Recommended"];
/// What all checks refer to: lists of settings that harden Windows.
const LIST: &str = "hardeningkitty";
/// Of a longer name, the rest is not referred to.
const REFERENCE_CHARS_MAX: usize = 100;

/// Returns true for the start of such a report.
pub(super) fn is_table(head: &[u8]) -> bool {
    has_columns(head, &COLUMNS)
}

/// See [`crate::import::read`].
pub(in crate::import) fn read(
    input: &mut dyn BufRead,
    records: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<()> {
    let subject = CheckSubject::of("windows".to_owned(), "Windows".to_owned());
    let about = About { scope: "host/hardeningkitty".to_owned(), subject, observed_at: None };
    sheet::each(input, WHAT, &COLUMNS, records, &mut |at, row, records| match Setting::of(row) {
        Err(reason) => records(Record::Skipped { at, reason }),
        Ok(setting) => setting.tell(&about, at, records),
    })
}

struct Setting<'a> {
    name: &'a str,
    /// Its severity if it is wrong, else `Passed`.
    rating: &'a str,
    /// `Passed` or `Failed`. Empty: an older release.
    result: &'a str,
    value: &'a str,
    recommended: &'a str,
}

impl<'a> Setting<'a> {
    fn of(row: Cells<'a>) -> OrSkipped<Self> {
        let text = |name: &str| row.text(name).map(str::trim);
        Ok(Self {
            name: text("Name")?,
            rating: text("Severity")?,
            result: text("TestResult")?,
            value: text("Result")?,
            recommended: text("Recommended")?,
        })
    }

    fn tell(
        &self,
        about: &About,
        at: u64,
        records: &mut dyn FnMut(Record) -> Result<()>,
    ) -> Result<()> {
        if self.name.is_empty() {
            return records(Record::Skipped { at, reason: "missing Name".to_owned() });
        }
        let value = if self.value.is_empty() { "not set" } else { self.value };
        let detail = format!("{value}; recommended is {}", self.recommended);
        let told = self.outcome().map(|outcome| Told {
            outcome,
            severity: severity(self.rating),
            title: self.name,
            remediation: "",
            detail: &detail,
        });
        let references = BTreeSet::from([LIST.to_owned(), reference(self.name)]);
        about.tell(at, &with_references(self.name, &references), told, records)
    }

    fn outcome(&self) -> OrSkipped<CheckOutcome> {
        let is = |word: &str, it: &str| it.eq_ignore_ascii_case(word);
        let has_failed = ["low", "medium", "high"].iter().any(|it| is(it, self.rating));
        match (self.result, self.rating) {
            (result, _) if is("passed", result) => Ok(CheckOutcome::Pass),
            (result, _) if is("failed", result) => Ok(CheckOutcome::Fail),
            ("", rating) if is("passed", rating) => Ok(CheckOutcome::Pass),
            ("", _) if has_failed => Ok(CheckOutcome::Fail),
            ("", rating) => Err(no_result(rating, "not a result")),
            (result, _) => Err(no_result(result, "not a result")),
        }
    }
}

/// The name of a setting as a reference, which has no space: lists number settings each in its own way, and name them alike.
fn reference(name: &str) -> String {
    let slug: String = slug(name).chars().take(REFERENCE_CHARS_MAX).collect();
    format!("{LIST}:{slug}")
}
