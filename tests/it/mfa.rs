//! Second factors: what sets them up, what a login then needs, and what takes them away.

mod needs_pyotp;

use std::fs;

use posture::clock::Time;
use posture::secret::Sealer;
use posture::serve::ServeOptions;
use posture::store::global::user::Role;
use serde_json::{Value, json};
use totp_rs::{Builder, Secret};

use crate::harness::backend::Disk;
use crate::harness::{Answer, Posture};
use crate::strangers::world::{PASSWORD, user};

const ADA: &str = "ada@example.com";
const NEEDED: &str = "a code of the second factor is required; send it as `otp`";
const WRONG: &str = "user name or password is wrong";
const WRONG_CODE: &str = "the code is wrong, expired or already used";
const OVER: &str = "the token is invalid or expired; log in again";

/// What an app with this secret shows then.
pub(crate) fn code(secret: &str, at: Time) -> String {
    let secret = Secret::try_from_base32(secret).unwrap();
    let totp = Builder::new().with_secret(secret).build().unwrap();
    totp.generate(u64::try_from(at.s()).unwrap()).to_string()
}

/// An admin with a second factor.
struct Ada {
    posture: Posture,
    id: String,
    secret: String,
    recovery_codes: Vec<String>,
    /// Of the session after the factor was confirmed.
    token: String,
}

fn add_ada(posture: &Posture) -> String {
    let made = posture.operator("POST", "/api/users", &user(ADA, "admin"));
    assert_eq!(made.status, 201, "{}", made.text());
    made.json()["data"]["id"].as_str().unwrap().to_owned()
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect()
}

/// Enrolls and confirms; the secret, and what the confirmation answered.
fn set_up(posture: &Posture, token: &str) -> (String, Value) {
    let password = json!({"currentPassword": PASSWORD});
    let made = posture.as_user(token, "POST", "/api/me/mfa", &password);
    assert_eq!(made.status, 200, "{}", made.text());
    let secret = made.json()["data"]["secret"].as_str().unwrap().to_owned();
    let first = json!({"otp": code(&secret, posture.now())});
    let confirmed = posture.as_user(token, "POST", "/api/me/mfa/confirm", &first);
    assert_eq!(confirmed.status, 200, "{}", confirmed.text());
    (secret, confirmed.json()["data"].clone())
}

impl Ada {
    fn new() -> Self {
        Self::on(Posture::start())
    }

    /// The code that confirmed the factor is of a step before.
    fn on(posture: Posture) -> Self {
        let id = add_ada(&posture);
        let (secret, told) = set_up(&posture, &posture.log_in(ADA, PASSWORD));
        posture.pass_s(90);
        let token = told["session"]["token"].as_str().unwrap().to_owned();
        Self { posture, id, secret, recovery_codes: texts(&told["recoveryCodes"]), token }
    }

    fn restart_after(
        self,
        meanwhile: impl FnOnce(&std::path::Path),
        change: impl FnOnce(&mut ServeOptions),
    ) -> Self {
        Self { posture: self.posture.restart_after(meanwhile, change), ..self }
    }

    /// The code so many seconds from now.
    fn code_in(&self, seconds: i64) -> String {
        code(&self.secret, self.posture.now().plus_s(seconds))
    }

    fn try_log_in(&self, otp: &str) -> Answer {
        try_log_in(&self.posture, PASSWORD, otp)
    }

    #[track_caller]
    fn logs_in(&self, otp: &str) -> String {
        let answer = self.try_log_in(otp);
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()["data"]["token"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    fn is_refused(&self, otp: &str) {
        let answer = self.try_log_in(otp);
        assert_eq!((answer.status, answer.problem().1.as_str()), (401, WRONG_CODE), "{otp}");
    }

    /// A call with the password and a code.
    fn post(&self, token: &str, path: &str, otp: &str) -> Answer {
        let body = json!({"currentPassword": PASSWORD, "otp": otp});
        self.posture.as_user(token, "POST", path, &body)
    }

    fn reset(&self) -> Answer {
        let path = format!("/api/users/{}/mfa", self.id);
        self.posture.operator("DELETE", &path, &Value::Null)
    }
}

fn try_log_in(posture: &Posture, password: &str, otp: &str) -> Answer {
    let body = json!({"username_or_email": ADA, "password": password, "otp": otp});
    posture.try_log_in_with(&body)
}

fn me(posture: &Posture, token: &str) -> Answer {
    posture.as_user(token, "GET", "/api/me", &Value::Null)
}

#[track_caller]
fn is_over(posture: &Posture, token: &str) {
    let answer = me(posture, token);
    assert_eq!((answer.status, answer.problem().1.as_str()), (401, OVER));
}

/// The outcomes of one operation in the audit log, with what they are about.
fn audited(posture: &Posture, action: &str) -> Vec<(String, String)> {
    posture.block_on(posture.app.checkpoint_audit()).unwrap();
    posture.block_on(posture.app.checkpoint_unauthenticated()).unwrap();
    let log = posture.operator("GET", "/api/audit?limit=100", &Value::Null).json();
    let text = |it: &Value| it.as_str().unwrap().to_owned();
    let all = log["data"].as_array().unwrap().iter().filter(|it| it["action"] == action);
    all.map(|it| (text(&it["outcome"]), text(&it["about"]))).collect()
}

#[test]
fn a_second_factor_counts_from_its_first_code_on() {
    let posture = Posture::start();
    add_ada(&posture);
    let token = posture.log_in(ADA, PASSWORD);
    let enroll = |password: &str| {
        posture.as_user(&token, "POST", "/api/me/mfa", &json!({"currentPassword": password}))
    };
    assert_eq!(enroll("wrong").json()["error"]["details"][0]["field"], "currentPassword");
    let first = enroll(PASSWORD).json()["data"]["secret"].as_str().unwrap().to_owned();
    let made = enroll(PASSWORD).json()["data"].clone();
    let secret = made["secret"].as_str().unwrap();
    assert_eq!(secret.len(), 32, "20 bytes in base32");
    let url = format!("otpauth://totp/Posture:ada%40example.com?secret={secret}&issuer=Posture");
    assert_eq!(made["url"], url);
    let confirm =
        |otp: &str| posture.as_user(&token, "POST", "/api/me/mfa/confirm", &json!({ "otp": otp }));
    let refused = confirm(&code(&first, posture.now()));
    assert_eq!(refused.status, 400, "the second secret took the place of the first");
    assert_eq!(refused.json()["error"]["details"][0]["field"], "otp");
    assert_eq!(me(&posture, &token).json()["data"]["user"]["mfa"], "off");
    assert_eq!(posture.try_log_in(ADA, PASSWORD).status, 200, "it is not confirmed");

    let used = code(secret, posture.now());
    let told = confirm(&used);
    assert_eq!(told.status, 200, "{}", told.text());
    let told = told.json()["data"].clone();
    assert_eq!(texts(&told["recoveryCodes"]).len(), 10);
    is_over(&posture, &token);
    let shown = me(&posture, told["session"]["token"].as_str().unwrap()).json()["data"].clone();
    assert_eq!((&shown["user"]["mfa"], &shown["recoveryCodesLeft"]), (&json!("on"), &json!(10)));
    let all = posture.operator("GET", "/api/users", &Value::Null);
    assert_eq!(all.json()["data"][0]["mfa"], "on");
    assert!(!all.text().contains(secret));

    let lacking = posture.try_log_in(ADA, PASSWORD);
    assert_eq!((lacking.status, lacking.problem().1.as_str()), (401, NEEDED));
    assert_eq!(lacking.json()["error"]["details"][0]["field"], "otp");
    assert_eq!(try_log_in(&posture, PASSWORD, &used).problem().1, WRONG_CODE, "it is used");
    posture.pass_s(30);
    let next = code(secret, posture.now());
    assert_eq!(try_log_in(&posture, PASSWORD, &next).status, 200);
}

#[test]
fn who_does_not_know_the_password_learns_nothing_of_a_second_factor() {
    let ada = Ada::new();
    let other = "nine ochre moths, kettle";
    let right = ada.code_in(0);
    for answer in [
        ada.posture.try_log_in(ADA, other),
        try_log_in(&ada.posture, other, &right),
        try_log_in(&ada.posture, other, &ada.recovery_codes[0]),
    ] {
        assert_eq!((answer.status, answer.problem().1.as_str()), (401, WRONG));
        assert!(answer.json()["error"]["details"].is_null());
    }
    ada.logs_in(&right);
    let told = audited(&ada.posture, "POST /auth/login");
    assert!(told.iter().all(|it| it.1 == "user ada@example.com"), "{told:?}");
}

#[test]
fn a_code_is_accepted_once_and_a_step_early_or_late() {
    let ada = Ada::new();
    for seconds in [-60, 60, 3_600] {
        ada.is_refused(&ada.code_in(seconds));
    }
    let codes = [-30, 0, 30].map(|it| ada.code_in(it));
    for (n, it) in codes.iter().enumerate() {
        ada.logs_in(it);
        ada.is_refused(it);
        if n == 1 {
            ada.is_refused(&codes[0]);
        }
    }
    ada.posture.pass_s(60);
    let next = ada.code_in(0);
    let spaced = format!("{} {}", &next[..3], &next[3..]);
    ada.logs_in(&spaced);
    let ada = ada.restart_after(|_| (), |_| ());
    ada.is_refused(&next);
    ada.posture.pass_s(30);
    ada.logs_in(&ada.code_in(0));
    ada.posture.clock.set(ada.posture.now().plus_s(-86_400));
    ada.logs_in(&ada.code_in(0));
    ada.is_refused(&ada.code_in(0));
}

#[test]
fn of_one_code_sent_many_times_at_once_one_login_comes() {
    let ada = Ada::new();
    for otp in [ada.code_in(0), ada.recovery_codes[0].clone()] {
        let n_logins = std::thread::scope(|scope| {
            let all: Vec<_> = (0..5).map(|_| scope.spawn(|| ada.try_log_in(&otp).status)).collect();
            all.into_iter().map(|it| it.join().unwrap()).filter(|it| *it == 200).count()
        });
        assert_eq!(n_logins, 1);
        ada.posture.pass_s(3_600);
    }
}

#[test]
fn wrong_codes_count_like_wrong_passwords() {
    let ada = Ada::new();
    for otp in ["000000", "", "12345", "ask-me", &"9".repeat(1_000)] {
        ada.is_refused(otp);
    }
    assert_eq!(ada.try_log_in(&ada.code_in(0)).status, 429, "the right code waits too");
    ada.posture.pass_s(2);
    ada.logs_in(&ada.code_in(0));
    for _ in 0..5 {
        assert_eq!(ada.posture.try_log_in(ADA, PASSWORD).problem().1, NEEDED);
    }
    assert_eq!(ada.posture.try_log_in(ADA, PASSWORD).status, 429, "as do logins without a code");
    for _ in 0..5 {
        let answer = ada.post(&ada.token, "/api/me/mfa/remove", "000000");
        assert_eq!(answer.json()["error"]["details"][0]["field"], "otp");
    }
    assert_eq!(ada.post(&ada.token, "/api/me/mfa/remove", "000000").status, 429);
    let told = audited(&ada.posture, "POST /api/me/mfa/remove");
    assert_eq!(told, [("refused 400".to_owned(), "wrong code".to_owned())]);
    let told = audited(&ada.posture, "POST /auth/login");
    for what in ["user ada@example.com, wrong code", "user ada@example.com, no code"] {
        assert!(told.contains(&("refused 401".to_owned(), what.to_owned())), "{told:?}");
    }
}

#[test]
fn a_right_password_does_not_forgive_wrong_codes() {
    let ada = Ada::new();
    let own = |method: &str, path: &str, body: Value| {
        ada.posture.as_user(&ada.token, method, path, &body).status
    };
    let same = json!({"currentPassword": PASSWORD, "newPassword": PASSWORD});
    let statuses = [(); 8].map(|()| {
        assert_eq!(own("POST", "/api/me/mfa", json!({"currentPassword": PASSWORD})), 409);
        assert_eq!(own("PUT", "/api/me/password", same.clone()), 400);
        ada.post(&ada.token, "/api/me/mfa/remove", "000000").status
    });
    assert_eq!(statuses, [400, 400, 400, 400, 400, 429, 429, 429]);
    ada.posture.pass_s(2);
    assert_eq!(ada.post(&ada.token, "/api/me/mfa/remove", &ada.code_in(0)).status, 200);
}

#[test]
fn each_recovery_code_takes_the_place_of_a_code_once() {
    let ada = Ada::new();
    let first = &ada.recovery_codes[0];
    assert_eq!(first.len(), 29, "24 characters in groups of four");
    let token = ada.logs_in(first);
    assert_eq!(me(&ada.posture, &token).json()["data"]["recoveryCodesLeft"], 9);
    ada.is_refused(first);
    ada.logs_in(&ada.recovery_codes[1].replace('-', " ").to_uppercase());
    let done = ("done".to_owned(), "user ada@example.com, recovery code".to_owned());
    assert!(audited(&ada.posture, "POST /auth/login").contains(&done));
    let ada = ada.restart_after(|_| (), |_| ());
    ada.is_refused(&ada.recovery_codes[1]);

    let path = "/api/me/mfa/recovery-codes";
    let token = ada.logs_in(&ada.recovery_codes[2]);
    let refused = ada.posture.as_user(
        &token,
        "POST",
        path,
        &json!({"currentPassword": "wrong", "otp": ada.code_in(0)}),
    );
    assert_eq!(refused.json()["error"]["details"][0]["field"], "currentPassword");
    let told = ada.post(&token, path, &ada.code_in(0));
    assert_eq!(told.status, 200, "{}", told.text());
    is_over(&ada.posture, &token);
    let told = told.json()["data"].clone();
    let session = told["session"]["token"].as_str().unwrap();
    assert_eq!(me(&ada.posture, session).json()["data"]["recoveryCodesLeft"], 10);
    ada.is_refused(&ada.recovery_codes[3]);
    ada.logs_in(&texts(&told["recoveryCodes"])[3]);
}

#[test]
fn a_user_removes_the_own_factor_with_the_password_and_a_code() {
    for by_recovery_code in [false, true] {
        let ada = Ada::new();
        let path = "/api/me/mfa/remove";
        let otp = if by_recovery_code { ada.recovery_codes[0].clone() } else { ada.code_in(0) };
        let body = json!({"currentPassword": "wrong", "otp": otp});
        let refused = ada.posture.as_user(&ada.token, "POST", path, &body);
        assert_eq!(refused.json()["error"]["details"][0]["field"], "currentPassword");
        assert_eq!(ada.post(&ada.token, path, "000000").status, 400);
        let again = ada.posture.as_user(
            &ada.token,
            "POST",
            "/api/me/mfa",
            &json!({"currentPassword": PASSWORD}),
        );
        assert_eq!(again.status, 409, "a second one does not take the place of the first");
        let removed = ada.post(&ada.token, path, &otp);
        assert_eq!(removed.status, 200, "{}", removed.text());
        is_over(&ada.posture, &ada.token);
        let session = removed.json()["data"]["token"].as_str().unwrap().to_owned();
        let shown = me(&ada.posture, &session).json()["data"].clone();
        assert_eq!(
            (&shown["user"]["mfa"], &shown["recoveryCodesLeft"]),
            (&json!("off"), &Value::Null)
        );
        assert_eq!(ada.posture.try_log_in(ADA, PASSWORD).status, 200);
        assert_eq!(ada.post(&session, path, &otp).status, 409);
        set_up(&ada.posture, &session);
        let told = audited(&ada.posture, "POST /api/me/mfa");
        assert_eq!(told.iter().filter(|it| it.0 == "done").count(), 2);
    }
}

#[test]
fn another_administrator_resets_a_factor_that_was_lost() {
    let ada = Ada::new();
    let path = format!("/api/users/{}/mfa", ada.id);
    let own = ada.posture.as_user(&ada.token, "DELETE", &path, &Value::Null);
    let message = "remove your own second factor with POST /api/me/mfa/remove";
    assert_eq!((own.status, own.problem().1.as_str()), (403, message));
    for (name, role, status) in
        [("bob@example.com", "analyst", 403), ("eve@example.com", "admin", 204)]
    {
        ada.posture.operator("POST", "/api/users", &user(name, role));
        let token = ada.posture.log_in(name, PASSWORD);
        assert_eq!(ada.posture.as_user(&token, "DELETE", &path, &Value::Null).status, status);
    }
    is_over(&ada.posture, &ada.token);
    let token = ada.posture.log_in(ADA, PASSWORD);
    assert_eq!(ada.reset().status, 204, "there is nothing to reset");
    assert_eq!(me(&ada.posture, &token).status, 200, "so nothing ends");
    let absent = "/api/users/0195a000-0000-7000-8000-000000000000/mfa";
    assert_eq!(ada.posture.operator("DELETE", absent, &Value::Null).status, 404);
    let told = audited(&ada.posture, "DELETE /api/users/{userId}/mfa");
    assert_eq!(told.iter().filter(|it| it.0 == "done").count(), 1, "{told:?}");
}

#[test]
fn who_must_have_a_second_factor_sets_it_up_before_anything_else() {
    let posture = Posture::start_with(|options| options.app.require_mfa = vec![Role::Admin]);
    add_ada(&posture);
    let token = posture.log_in(ADA, PASSWORD);
    let keys = |token: &str| posture.as_user(token, "GET", "/api/keys", &Value::Null);
    let refused = keys(&token);
    let message = "set up a second factor first: POST /api/me/mfa";
    assert_eq!((refused.status, refused.problem().1.as_str()), (403, message));
    assert_eq!(me(&posture, &token).json()["data"]["user"]["mfa"], "missing");
    let change = json!({"currentPassword": PASSWORD, "newPassword": "nine ochre moths, kettle"});
    let changed = posture.as_user(&token, "PUT", "/api/me/password", &change);
    assert_eq!(changed.status, 200);
    let token = changed.json()["data"]["token"].as_str().unwrap().to_owned();
    let back = json!({"currentPassword": change["newPassword"], "newPassword": PASSWORD});
    let changed = posture.as_user(&token, "PUT", "/api/me/password", &back);
    let token = changed.json()["data"]["token"].as_str().unwrap().to_owned();
    let (_, told) = set_up(&posture, &token);
    assert_eq!(keys(told["session"]["token"].as_str().unwrap()).status, 200);

    posture.operator("POST", "/api/users", &user("bob@example.com", "viewer"));
    let bob = posture.log_in("bob@example.com", PASSWORD);
    assert_eq!(me(&posture, &bob).json()["data"]["user"]["mfa"], "off");
    let clients = |token: &str| posture.as_user(token, "GET", "/api/clients", &Value::Null);
    assert_eq!(clients(&bob).status, 200, "no other role must");
    let id = me(&posture, &bob).json()["data"]["user"]["id"].as_str().unwrap().to_owned();
    let promoted =
        posture.operator("PATCH", &format!("/api/users/{id}"), &json!({"role": "admin"}));
    assert_eq!(promoted.json()["data"]["mfa"], "missing");
    assert_eq!(clients(&bob).status, 403, "from the next request on");
}

#[test]
fn a_rotated_key_file_keeps_a_factor_and_another_one_leaves_the_recovery_codes() {
    let ada = Ada::new();
    let (key, new) = (ada.posture.dir().join("posture.key"), ada.posture.dir().join("new"));
    let (old, fresh) = (Sealer::open(&key).unwrap(), Sealer::create(&new).unwrap());
    let done = ada.posture.block_on(ada.posture.app.reseal(old, fresh)).unwrap();
    // The secret of the factor, and the key that signs reports.
    assert_eq!((done.n_sealed, done.n_locked), (2, 0));
    let put = |dir: &std::path::Path| fs::rename(dir.join("new"), dir.join("posture.key")).unwrap();
    let ada = ada.restart_after(put, |_| ());
    ada.logs_in(&ada.code_in(0));

    let ada = ada.restart_after(|dir| fs::remove_file(dir.join("posture.key")).unwrap(), |_| ());
    ada.posture.pass_s(30);
    let locked = ada.try_log_in(&ada.code_in(0));
    assert_eq!((locked.status, locked.problem().0.as_str()), (409, "CONFLICT"));
    assert!(locked.problem().1.starts_with("posture.key cannot open the second factor"));
    ada.logs_in(&ada.recovery_codes[0]);
}

#[test]
fn a_login_that_cannot_be_recorded_takes_a_code_but_no_recovery_code() {
    for (by_recovery_code, status) in [(false, 200), (true, 503)] {
        let disk = Disk::default();
        let ada = Ada::on(Posture::start_on_disk(&disk, |_| ()));
        let otp = if by_recovery_code { ada.recovery_codes[0].clone() } else { ada.code_in(0) };
        disk.fail_from(1);
        assert_eq!(ada.try_log_in(&otp).status, status);
    }
}
