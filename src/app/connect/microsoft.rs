//! The app at Microsoft that all connections to it share: whether it works, and what waits for it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::app::App;
use crate::auth::caller::Caller;
use crate::clock::Time;
use crate::connect::kind::uses_microsoft_app;
use crate::connect::microsoft::check::{Found, own_tokens, registration, sign_in};
use crate::connect::microsoft::{self, AppKey, MicrosoftApp};
use crate::connect::settings::Settings;
use crate::error::{Error, Result};
use crate::store::Batch;
use crate::store::global::connection::{ConnectionHealth, ConnectionState};

/// A test of the app ends after this, with what was not found out.
const TEST_MAX: Duration = Duration::from_mins(1);

/// A test of the app.
pub struct AppTest {
    /// In their order. `None`: it was not reached.
    pub steps: [(&'static str, Option<Found>); 4],
    /// Connections that waited for the app and are read now.
    pub n_due: usize,
}

/// Has connections to Microsoft run now that were never read, or of which the last run read nothing. Returns how many.
pub(super) fn hasten_waiting(batch: &mut Batch, now: Time) -> Result<usize> {
    let mut n_due = 0;
    for connection in batch.list_connections()? {
        let id = connection.id;
        let is_of_microsoft = uses_microsoft_app(&Settings::parse(&connection.settings)?.kind);
        if !is_of_microsoft || connection.state != ConnectionState::Active {
            continue;
        }
        let run = batch.with_run(connection)?.run;
        if run.is_none_or(|it| it.health == ConnectionHealth::Failing) {
            batch.put_due_connection(id, Some(now))?;
            n_due += 1;
        }
    }
    Ok(n_due)
}

impl App {
    /// Asks Microsoft, in the managed service provider's own tenant, whether the app is as it has to be. If it lets the app in,
    /// the connections that waited for it run now.
    ///
    /// # Errors
    /// `Forbidden` if the caller may not access all clients; `NotFound` if there is no app; `Conflict` if it is being tested, or
    /// in the demonstration, which asks nobody.
    pub async fn test_microsoft_app(&self, by: &Caller) -> Result<AppTest> {
        self.reach_connection(by, None)?;
        if self.connects.options.made_up.is_some() {
            let rule =
                "the demonstration asks nobody; an installation of your own tests its app here";
            return Err(Error::conflict(rule));
        }
        let Ok(_place) = self.connects.app_test.try_lock() else {
            return Err(Error::conflict("the app is being tested; try again when that has ended"));
        };
        let missing = || Error::not_found("there is no Microsoft app yet");
        let expires_at = self.microsoft_app().await?.ok_or_else(missing)?.expires_at;
        let now = self.clock.now();
        let credential = match self.microsoft_key().await? {
            Ok(_) if expires_at.is_some_and(|it| it <= now) => {
                Err("its credential has expired; renew it".to_owned())
            }
            Ok(it) => Ok(it),
            Err(unread) => Err(unread.reason),
        };
        let (credential, key) = match credential {
            Ok(key) => (Ok(valid_until(expires_at)), Some(key)),
            Err(why) => (Err(why), None),
        };
        let mut found = [Some(credential), None, None, None];
        let mut n_due = 0;
        if let Some((app, key)) = key {
            let [_, signed_in, registered, permissions] = &mut found;
            let (first, more) = self.ask_microsoft(&app.app, &key).await;
            if first.is_ok() {
                let write = move |batch: &mut Batch| hasten_waiting(batch, now);
                n_due = by.acting_on(&self.store).write(write).await?;
                self.connects.wake();
            }
            *signed_in = Some(first);
            (*registered, *permissions) = more.unzip();
        }
        let [credential, signed_in, registered, permissions] = found;
        let steps = [
            ("credential", credential),
            ("sign_in", signed_in),
            ("registration", registered),
            ("permissions", permissions),
        ];
        Ok(AppTest { steps, n_due })
    }

    async fn ask_microsoft(
        &self,
        app: &MicrosoftApp,
        key: &Arc<AppKey>,
    ) -> (Found, Option<(Found, Found)>) {
        let deadline = Instant::now() + TEST_MAX;
        let api = self.connects.api(&microsoft::DIALECT, &self.clock, deadline);
        let tokens = own_tokens(app, key);
        let first = sign_in(&api, &tokens, app).await;
        let more = match first {
            Ok(_) => Some(registration(&api, &tokens, app).await),
            Err(_) => None,
        };
        (first, more)
    }
}

fn valid_until(expires_at: Option<Time>) -> String {
    expires_at.map_or_else(
        || "it can be used".to_owned(),
        |it| format!("it can be used until {}", &it.to_string()[..10]),
    )
}
