//! Identifiers: UUIDs that are the same for the same thing, and those of controls in a framework.

use std::collections::BTreeSet;

use uuid::Uuid;

use crate::engine::framework::{Framework, FrameworkId};

/// Of all identifiers that are made here.
const SPACE: Uuid = Uuid::from_u128(0x6f0f_2f0b_6d0c_4f6c_9d53_0c5a_5a7e_81d4);

/// The identifier of something of this kind with these names.
pub(super) fn uuid(kind: &str, names: &[&str]) -> String {
    let mut text = kind.to_owned();
    for name in names {
        text.push('\0');
        text.push_str(name);
    }
    Uuid::new_v5(&SPACE, text.as_bytes()).hyphenated().to_string()
}

/// A requirement as OSCAL names it.
pub(super) struct ControlId {
    pub(super) control: String,
    /// The control's statement, which stands for the whole control.
    pub(super) statement: String,
}

/// One for each row of a framework. Those of NIST's frameworks are the same as in its own catalogs.
pub(super) struct ControlIds(Vec<ControlId>);

impl ControlIds {
    pub(super) fn of(framework: &Framework) -> Self {
        let mut taken = BTreeSet::new();
        let ids = framework.rows.iter().enumerate().map(|(row, it)| {
            let mut id = ControlId::of(framework.id, &it.reference);
            // Two references may differ only in characters that an identifier cannot have.
            while !taken.insert(id.control.clone()) {
                id = ControlId::other(&format!("{}-{row}", id.control));
            }
            id
        });
        Self(ids.collect())
    }

    pub(super) fn of_row(&self, row: usize) -> &ControlId {
        &self.0[row]
    }
}

impl ControlId {
    fn of(framework: FrameworkId, reference: &str) -> Self {
        if framework == FrameworkId::Nist80053 {
            return Self::other(&token(reference).to_lowercase());
        }
        if framework == FrameworkId::NistCsf {
            let control = token(reference);
            return Self { statement: format!("{control}_statement"), control };
        }
        if framework == FrameworkId::Nist800171 {
            let reference = token(reference);
            let statement = format!("statement_{reference}");
            return Self { control: format!("SP_800_171_{reference}"), statement };
        }
        Self::other(&format!("{}-{}", framework.as_str(), token(reference)))
    }

    fn other(control: &str) -> Self {
        Self { control: control.to_owned(), statement: format!("{control}_smt") }
    }
}

/// A reference in the characters of an identifier: `AC-2(1)` becomes `AC-2.1`.
fn token(reference: &str) -> String {
    let allowed = |it: char| match it {
        ')' => None,
        '(' => Some('.'),
        it if it.is_ascii_alphanumeric() || "-._".contains(it) => Some(it),
        _ => Some('_'),
    };
    reference.chars().filter_map(allowed).collect()
}
