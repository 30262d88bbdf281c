//! The root user and the users.

use std::time::Duration;

use tokio::time::sleep;

use super::request::{Ask, HOME};
use super::session::Session;
use crate::connect::aws::account::{Summary, User};
use crate::connect::aws::answer::{credential_report, is_report_ready, report_csv, summary};
use crate::connect::call::{Parts, Unread};
use crate::connect::reading::Stream;

const VERSION: &str = "2010-05-08";
/// AWS makes a report in seconds, and keeps it for four hours.
const N_LOOKS_MAX: usize = 30;
const LOOK_EVERY: Duration = Duration::from_secs(2);

fn iam(action: &'static str) -> Ask {
    Ask::query("iam", HOME, action, VERSION)
}

pub(super) async fn read_summary(session: &mut Session<'_>) -> (Option<Summary>, Stream) {
    let mut parts = Parts::of("account_summary");
    let read = session.one(&iam("GetAccountSummary"), summary).await;
    (parts.take("", read, |_| 1), parts.stream())
}

pub(super) async fn read_users(session: &mut Session<'_>) -> (Option<Vec<User>>, Stream) {
    let mut parts = Parts::of("credential_report");
    let read = report(session).await;
    (parts.take("", read, Vec::len), parts.stream())
}

async fn report(session: &mut Session<'_>) -> Result<Vec<User>, Unread> {
    let generate = iam("GenerateCredentialReport");
    for n_looks in 1.. {
        if session.one(&generate, is_report_ready).await? {
            break;
        }
        if n_looks == N_LOOKS_MAX {
            return Err(Unread::failed("AWS has not made the credential report within a minute"));
        }
        sleep(LOOK_EVERY).await;
    }
    let read = |text: &str| credential_report(&report_csv(text)?);
    session.one(&iam("GetCredentialReport"), read).await
}
