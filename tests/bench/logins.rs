//! How long a login takes, and whether that tells who is a user.

use posture::app::access::user::NewUser;
use posture::auth::caller::{Caller, Principal};
use posture::clock::Clock;
use posture::serve::Opened;
use posture::store::Store;
use posture::store::global::audit::PendingAct;
use posture::store::global::user::Role;

use super::figure::{Report, median};
use super::harness::{options, process::Folder};
use super::{Bench, micros};

const N_TRIES: u32 = 500;
/// Welch's t of two alike, but once in 370 times.
const T_MAX: f64 = 3.0;
const PASSWORD: &str = "ochre kettle, nine moths";
/// Until tries are free again.
const PAUSE_S: i64 = 2 * posture::auth::throttle::FORGET_S;

pub(super) fn bench(bench: &mut Bench) {
    Report::section("Logins");
    let folder = Folder::new();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let clock = Clock::manual(Clock::System.now());
    let store = Store::on_backend(redb::backends::InMemoryBackend::new(), 1 << 20).unwrap();
    let opened = Opened::on(store, clock.clone(), &options(folder.path())).unwrap();
    let app = &opened.app;
    let user = NewUser {
        email: "ada@example.com".to_owned(),
        username: None,
        display_name: None,
        role: Role::Viewer,
        clients: Vec::new(),
        password: Some(PASSWORD.to_owned()),
    };
    let by = Caller::new(Principal::Operator { uid: 0 });
    runtime.block_on(app.add_user(&by, user)).unwrap();
    let try_once = |name: &str, password: &str, is_right: bool| {
        clock.set(clock.now().plus_s(PAUSE_S));
        let mut login = None;
        let took = micros(|| {
            login = Some(runtime.block_on(app.log_in(
                name,
                password,
                None,
                None,
                PendingAct::default(),
            )));
        });
        assert_eq!(login.unwrap().is_ok(), is_right);
        took
    };
    let (mut right, mut wrong, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..N_TRIES {
        right.push(try_once("ada@example.com", PASSWORD, true));
        wrong.push(try_once("ada@example.com", "wrong, and long", false));
        unknown.push(try_once("eve@example.com", "wrong, and long", false));
    }
    bench.note("right password", median(right));
    let t = welch_t(&wrong, &unknown);
    let (wrong, unknown) = (median(wrong), median(unknown));
    bench.note("wrong password", wrong);
    bench.note("unknown user", unknown);
    bench.goal("between these two", wrong.abs_diff(unknown), 5_000);
    bench.report.goal("Welch's t of these two", format!("{t:.2}"), "< 3", t.abs() < T_MAX);
    runtime.block_on(opened.close()).unwrap();
}

/// How far two means are apart, in standard errors of their difference (Welch 1947).
#[allow(clippy::float_arithmetic, reason = "a statistic, of which nothing else follows")]
fn welch_t(a: &[u64], b: &[u64]) -> f64 {
    let mean_and_error = |all: &[u64]| {
        let n = f64::from(u32::try_from(all.len()).unwrap());
        let values = || all.iter().map(|it| f64::from(u32::try_from(*it).unwrap()));
        let mean = values().sum::<f64>() / n;
        let variance = values().map(|it| (it - mean).powi(2)).sum::<f64>() / (n - 1.0);
        (mean, variance / n)
    };
    let ((mean_a, error_a), (mean_b, error_b)) = (mean_and_error(a), mean_and_error(b));
    (mean_a - mean_b) / (error_a + error_b).sqrt()
}
