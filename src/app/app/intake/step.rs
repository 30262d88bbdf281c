//! What a run changes besides what is assessed: lists, sources, assets. A small run does all of it in the commit that
//! decides; of a large one, it is stored there as steps, which are done one after the other afterwards.

use std::collections::HashSet;

use bincode::{Decode, Encode};

use crate::app::event;
use crate::app::inventory::asset::{Merged, Sighting, ask_if_counted, merge};
use crate::clock::Time;
use crate::engine::asset::{AssetStatus, Seen};
use crate::engine::identity::{AppUse, Identity};
use crate::error::Result;
use crate::id::AssetId;
use crate::layout::Layout;
use crate::store::ClientBatch;
use crate::store::per_client::account_list::{AccountRows, ListMark};
use crate::store::per_client::import::SourceScope;
use crate::store::per_client::leaver::{LeaverKey, LeaverRow};
use crate::store::per_client::roster::{ListKind, Reads, Roster};
use crate::store::per_client::scan::{ScanKey, ScanRow};

/// How many rows of a run one commit writes or removes, so that other writers do not wait long.
pub(super) const N_ROWS_PER_COMMIT: usize = 2_000;
/// How many assets one commit merges. Each takes several rows.
pub(in crate::app) const N_ASSETS_PER_COMMIT: usize = 500;

/// One change.
#[derive(Clone, Debug, Encode, Decode)]
#[bincode(decode_context = "Layout")]
pub(super) enum Step {
    Reads {
        scope: String,
        part: ListKind,
        reads: Reads,
    },
    Identity(Identity),
    App(AppUse),
    ListedAsset(String),
    /// A member that a complete list no longer has.
    Gone(ListKind, String),
    Source(SourceScope),
    Asset {
        seen: Seen,
        /// Announce it if it is new.
        is_announced: bool,
    },
    /// An asset that this run merged already.
    Met(AssetId),
    /// No read of the list is left.
    ForgetReads {
        scope: String,
        part: ListKind,
    },
    /// A list of accounts that is no longer kept.
    ForgetList(ListMark),
    /// A part of a list of accounts.
    KeepAccounts {
        list: ListMark,
        number: u32,
        rows: AccountRows,
    },
    /// A part of a scan of a system.
    Scan(ScanRow),
    /// A scan that is no longer kept.
    ForgetScan(ScanKey),
    /// A list of people who left that is no longer kept.
    ForgetLeavers(LeaverKey),
    /// A part of a list of people who left.
    KeepLeavers(LeaverRow),
    /// A scope that only what is undone reported.
    ForgetSource(String),
}

impl Step {
    /// How many rows it is worth: a part of a list has many accounts, one of a scan many vulnerabilities.
    fn n_rows(&self) -> usize {
        match self {
            Self::KeepAccounts { rows, .. } => rows.accounts.len().max(1),
            Self::Scan(row) => row.n_found().max(1),
            Self::KeepLeavers(row) => row.n_leavers().max(1),
            Self::Reads { .. }
            | Self::Identity(_)
            | Self::App(_)
            | Self::ListedAsset(_)
            | Self::Gone(..)
            | Self::Source(_)
            | Self::Asset { .. }
            | Self::Met(_)
            | Self::ForgetReads { .. }
            | Self::ForgetList(_)
            | Self::ForgetScan(_)
            | Self::ForgetLeavers(_)
            | Self::ForgetSource(_) => 1,
        }
    }
}

/// How many rows steps are worth.
pub(super) fn n_rows<'a>(steps: impl IntoIterator<Item = &'a Step>) -> usize {
    steps.into_iter().map(Step::n_rows).sum()
}

/// Whether one commit does a step too, after those that it was asked about before.
pub(super) fn fits_in_commit(n_steps_max: usize) -> impl FnMut(&Step) -> bool {
    let (mut n_steps_left, mut n_rows_left) = (n_steps_max, N_ROWS_PER_COMMIT);
    move |it| {
        let fits = 0 < n_steps_left && it.n_rows() <= n_rows_left;
        n_steps_left = n_steps_left.saturating_sub(1);
        n_rows_left = n_rows_left.saturating_sub(it.n_rows());
        fits
    }
}

/// What all steps of a run have in common.
#[derive(Clone, Debug, Encode, Decode)]
pub(super) struct StepContext {
    pub source: String,
    /// The scope of the run's lists.
    pub scope: String,
    /// When the source looked at its lists.
    pub listed_at: Time,
    /// When assets without their own time were seen.
    pub seen_at: Time,
}

/// What steps did to the inventory.
#[derive(Clone, Debug, Default, Encode, Decode)]
pub(super) struct StepCounts {
    pub n_new: u32,
    pub n_updated: u32,
    pub n_retired: u32,
    pub n_discovered: u32,
    /// The first assets to announce.
    pub discovered: Vec<AssetId>,
}

/// One more than are announced one by one.
const N_DISCOVERED_KEPT: usize = event::summary::N_SINGLE_MAX + 1;

impl StepCounts {
    fn discover(&mut self, asset: AssetId) {
        self.n_discovered += 1;
        if self.discovered.len() < N_DISCOVERED_KEPT {
            self.discovered.push(asset);
        }
    }
}

impl StepContext {
    /// Does one step. `is_met`: whether the run merged an asset already. Returns the asset that it merged.
    pub(super) fn take(
        &self,
        batch: &mut ClientBatch<'_>,
        step: &Step,
        is_met: impl Fn(&AssetId) -> bool,
        counts: &mut StepCounts,
        now: Time,
    ) -> Result<Option<AssetId>> {
        let roster = |part| Roster { source: &self.source, scope: &self.scope, part };
        match step {
            Step::Reads { scope, part, reads } => {
                batch.put_reads(Roster { source: &self.source, scope, part: *part }, reads)?;
            }
            Step::Identity(it) => {
                batch.put_member(roster(ListKind::Identities), &it.external_id, it)?;
            }
            Step::App(it) => batch.put_member(roster(ListKind::Apps), &it.name, it)?,
            Step::ListedAsset(id) => batch.put_member(roster(ListKind::Assets), id, id)?,
            Step::Gone(part, id) => {
                batch.remove_member(roster(*part), id)?;
                if *part == ListKind::Assets {
                    counts.n_retired += u32::from(self.retire(batch, id, now)?);
                }
            }
            Step::Source(it) => batch.put_source(it)?,
            Step::ForgetSource(scope) => batch.remove_source(&self.source, scope)?,
            Step::Asset { seen, is_announced } => {
                // What a scope has on its first day was there before.
                let is_late = *is_announced
                    && batch
                        .find_source(&self.source, &seen.scope)?
                        .is_some_and(|it| it.first_seen_at.day() < now.day());
                let sight = Sighting { source: &self.source, seen_at: self.seen_at, now, is_late };
                let (id, merged) = merge(batch, &sight, seen, is_met)?;
                match merged {
                    Merged::Added(_) => {
                        counts.n_new += 1;
                        if *is_announced {
                            counts.discover(id);
                        }
                    }
                    Merged::Updated => counts.n_updated += 1,
                    Merged::Unchanged => (),
                }
                return Ok(Some(id));
            }
            Step::Met(_) => (),
            Step::ForgetList(list) => {
                batch.remove_account_list((&self.source, &self.scope), *list)?;
            }
            Step::KeepAccounts { list, number, rows } => {
                batch.put_account_rows((&self.source, &self.scope), *list, (*number, rows))?;
            }
            Step::Scan(row) => batch.put_scan_row(row)?,
            Step::ForgetScan(key) => batch.remove_scan(key)?,
            Step::ForgetLeavers(key) => batch.remove_leaver_list(key)?,
            Step::KeepLeavers(row) => batch.put_leaver_row(row)?,
            Step::ForgetReads { scope, part } => {
                batch.remove_reads(Roster { source: &self.source, scope, part: *part })?;
            }
        }
        Ok(None)
    }

    /// Does all steps of a small run.
    pub(super) fn take_all(
        &self,
        batch: &mut ClientBatch<'_>,
        steps: &[Step],
        now: Time,
    ) -> Result<StepCounts> {
        let (mut counts, mut met) = (StepCounts::default(), HashSet::new());
        for step in steps {
            met.extend(self.take(batch, step, |it| met.contains(it), &mut counts, now)?);
        }
        Ok(counts)
    }

    /// Retires an asset, unless it was seen since. Returns true if the asset was not retired before.
    fn retire(&self, batch: &mut ClientBatch<'_>, id: &str, now: Time) -> Result<bool> {
        let found = batch.find_asset_by_external(&self.source, id)?;
        let Some(before) = found else { return Ok(false) };
        if before.status == AssetStatus::Retired || self.listed_at < before.last_seen_at {
            return Ok(false);
        }
        let mut asset = before.clone();
        asset.status = AssetStatus::Retired;
        asset.last_updated_at = asset.last_updated_at.max(self.listed_at);
        batch.put_asset(&asset)?;
        ask_if_counted(batch, Some(&before), &asset, now)?;
        Ok(true)
    }
}
