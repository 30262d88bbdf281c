//! Notices about what the managed service provider itself must mend: its own connections, and credentials that expire.

use std::sync::Mutex;

use crate::app::App;
use crate::app::notice::NoticeKind;
use crate::clock::Time;
use crate::error::Result;
use crate::store::Snapshot;
use crate::store::global::connection::credential::CredentialOwner;
use crate::store::global::connection::{ConnectionHealth, ConnectionState, ConnectionWithRun};

/// Days before a credential expires from which on the log warns, each time once. The notice is open from the first on.
pub const WARNING_DAYS: [i64; 3] = [30, 14, 3];
const S_PER_DAY: i64 = 86_400;
/// Connections that a notice names.
const N_NAMED: usize = 3;

/// The credential of which the log warned last, and how many of [`WARNING_DAYS`] were passed.
pub(super) type Warned = Mutex<Option<(Time, usize)>>;

impl App {
    /// Opens and closes the notices by what the database has.
    ///
    /// # Errors
    /// `Unavailable` if the database is not available.
    pub async fn note_connections(&self) -> Result<()> {
        let read = |it: &Snapshot| {
            let own = it.list_connections()?.into_iter().filter(|it| it.client.is_none());
            let own = own.map(|connection| it.with_run(connection)).collect::<Result<Vec<_>>>()?;
            let next = it.find_credential(CredentialOwner::NextMicrosoftApp)?;
            Ok((own, it.find_credential(CredentialOwner::MicrosoftApp)?, next.is_some()))
        };
        let (own, app, has_next) = self.store.read(read).await?;
        self.note_failing(own);
        self.note_expiry(app.and_then(|it| it.expires_at), has_next);
        Ok(())
    }

    fn note_failing(&self, own: Vec<ConnectionWithRun>) {
        let is_failing = |it: &ConnectionWithRun| {
            let health = it.run.as_ref().map(|it| it.health);
            it.connection.state == ConnectionState::Active
                && health == Some(ConnectionHealth::Failing)
        };
        let failing: Vec<ConnectionWithRun> = own.into_iter().filter(is_failing).collect();
        let since = failing.iter().filter_map(|it| it.run.as_ref()).map(|it| it.at).min();
        let Some(since) = since else {
            self.notices.close(NoticeKind::ConnectionFailing);
            return;
        };
        let first = failing.iter().take(N_NAMED).map(|it| it.connection.name.as_str());
        let mut names = first.collect::<Vec<_>>().join(", ");
        if N_NAMED < failing.len() {
            names = format!("{names} and {} more", failing.len() - N_NAMED);
        }
        let message = format!("nothing can be read from {names}; `posture connect show` says why");
        self.notices.open(NoticeKind::ConnectionFailing, since, message);
    }

    /// `has_next`: a new one waits to be known to Microsoft.
    fn note_expiry(&self, expires_at: Option<Time>, has_next: bool) {
        let now = self.clock.now();
        let n_passed = expires_at.map_or(0, |at| n_passed(at, now));
        let (Some(at), 1..) = (expires_at, n_passed) else {
            self.notices.close(NoticeKind::CredentialExpiring);
            return;
        };
        let verb = if at <= now { "expired" } else { "expires" };
        let date = self.time_zone().local(at).day();
        let what = if has_next {
            "A new certificate waits: upload it, and test the app"
        } else {
            "Renew it on the page Microsoft app of the console, or with `posture connect m365 renew`"
        };
        let message = format!(
            "the credential of the Microsoft app {verb} on {date}; without it no Microsoft tenant is read. {what}"
        );
        let mut warned =
            self.connects.warned.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if *warned != Some((at, n_passed)) {
            *warned = Some((at, n_passed));
            tracing::warn!("{message}");
        }
        self.notices.close(NoticeKind::CredentialExpiring);
        let since = at.plus_days(-WARNING_DAYS[0]);
        self.notices.open(NoticeKind::CredentialExpiring, since, message);
    }
}

/// How many of [`WARNING_DAYS`] are passed for a credential that expires then.
fn n_passed(expires_at: Time, now: Time) -> usize {
    let left_s = expires_at.s_since(now);
    WARNING_DAYS.iter().filter(|days| left_s <= **days * S_PER_DAY).count()
}
