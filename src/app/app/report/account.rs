//! Accounts of a client: as each source reported them last.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use crate::clock::Time;
use crate::engine::identity::Identity;
use crate::error::Result;
use crate::store::ClientSnapshot;
use crate::store::per_client::roster::{ListKind, Roster};

/// An account, and who reported it.
#[derive(Clone, Debug)]
pub struct ReportedAccount {
    pub source: String,
    pub scope: String,
    /// When the source read its accounts last. `None`: it never read all of them.
    pub read_at: Option<Time>,
    pub account: Identity,
}

/// Which accounts are wanted. `None`: all.
#[derive(Clone, Debug, Default)]
pub struct AccountFilter {
    /// In the name that it signs in with, or the one that it shows, in lower case.
    pub search: Option<String>,
    pub source: Option<String>,
    pub privileged: Option<bool>,
    /// Accounts of which nobody knows it are neither.
    pub mfa: Option<bool>,
    pub enabled: Option<bool>,
    pub guest: Option<bool>,
}

impl AccountFilter {
    fn matches(&self, it: &Identity) -> bool {
        let is = |wanted: Option<bool>, known: Option<bool>| wanted.is_none() || wanted == known;
        let has = |text: &str| {
            self.search.as_ref().is_none_or(|wanted| text.to_lowercase().contains(wanted))
        };
        is(self.mfa, it.mfa)
            && is(self.enabled, Some(it.is_enabled))
            && is(self.guest, it.user_type.is_guest())
            && is(self.privileged, Some(it.is_administrator()))
            && (has(&it.user) || it.display_name.as_deref().is_some_and(has))
    }
}

/// Names an account in a list, to continue after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountCursor {
    source: String,
    scope: String,
    external_id: String,
}

/// Between the parts of a cursor. No name has it.
const SEPARATOR: char = '\0';

impl AccountCursor {
    #[must_use]
    pub fn of(it: &ReportedAccount) -> Self {
        Self {
            source: it.source.clone(),
            scope: it.scope.clone(),
            external_id: it.account.external_id.clone(),
        }
    }

    /// Reads what [`Self::text`] writes. `None`: it is something else.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let text = String::from_utf8(hex::decode(text).ok()?).ok()?;
        let mut parts = text.split(SEPARATOR).map(str::to_owned);
        let read = Self { source: parts.next()?, scope: parts.next()?, external_id: parts.next()? };
        parts.next().is_none().then_some(read)
    }

    #[must_use]
    pub fn text(&self) -> String {
        let Self { source, scope, external_id } = self;
        hex::encode(format!("{source}{SEPARATOR}{scope}{SEPARATOR}{external_id}"))
    }
}

/// Up to `limit` accounts, source by source and scope by scope, after one of them.
pub fn list_accounts(
    rows: &ClientSnapshot,
    filter: &AccountFilter,
    after: Option<&AccountCursor>,
    limit: usize,
) -> Result<Vec<ReportedAccount>> {
    let lists: BTreeSet<(String, String)> =
        rows.list_sources()?.into_iter().map(|it| (it.source, it.scope)).collect();
    let mut found = Vec::new();
    for (source, scope) in lists {
        let place = after.map(|it| (&it.source, &it.scope).cmp(&(&source, &scope)));
        let is_asked = filter.source.as_ref().is_none_or(|it| *it == source);
        if !is_asked || place.is_some_and(std::cmp::Ordering::is_gt) {
            continue;
        }
        let after = after.filter(|_| place.is_some_and(std::cmp::Ordering::is_eq));
        let roster = Roster { source: &source, scope: &scope, part: ListKind::Identities };
        let read_at = rows.find_reads(roster)?.map(|it| it.at);
        rows.visit_members(
            roster,
            after.map(|it| it.external_id.as_str()),
            |account: Identity| {
                if filter.matches(&account) {
                    let (source, scope) = (source.clone(), scope.clone());
                    found.push(ReportedAccount { source, scope, read_at, account });
                }
                if found.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            },
        )?;
        if limit <= found.len() {
            break;
        }
    }
    Ok(found)
}
