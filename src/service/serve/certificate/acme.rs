//! A certificate from an ACME authority such as Let's Encrypt: ordered, kept in the database, and renewed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use instant_acme::{
    Account, AccountBuilder, AccountCredentials, AuthorizationStatus, ChallengeType, Identifier,
    KeyAuthorization, NewAccount, NewOrder, Order, OrderStatus, RetryPolicy,
};
use rcgen::{CertificateParams, CustomExtension, DistinguishedName, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::acme_http::AcmeHttp;
use super::{Presented, certificate, certified, say};
use crate::app::App;
use crate::app::certificate::{IssuedCertificate, ProvenOrder};
use crate::clock::Time;
use crate::egress::{Egress, EgressPolicy, TrustedRoots};
use crate::error::{Chain, Error, Result};
use crate::store::global::certificate::{AcmeContact, AcmeFailures};

/// How often the clock is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// How long one request to the authority may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// How long an order may take, with the authority's own attempts to see the proof.
const ORDER_TIMEOUT: Duration = Duration::from_mins(5);
/// How long after a failure the next order is placed. It doubles up to the longest: authorities limit failures by the hour.
const RETRY_S_MIN: i64 = 5 * 60;
const RETRY_S_MAX: i64 = 6 * 3_600;
/// After so many failures one after the other, a restart or a request by the operator does not place an order at once.
const N_FAILURES_UNTIL_PATIENCE: u32 = 3;
/// The shortest time between a failure and the order that the operator asks for then.
const ASKED_GAP_S: i64 = 10 * 60;
/// The shortest time between two certificates, if the clock is wrong or they are valid for a short time only.
const ISSUE_GAP_S: i64 = 3_600;
/// An order that was proven longer ago is not continued after a restart.
const RESUME_S_MAX: i64 = 24 * 3_600;
/// A certificate is renewed once this part of its time is left.
const RENEW_WITH_LEFT: i64 = 3;

/// Which authority to ask for which names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcmeOptions {
    pub domains: Vec<String>,
    pub email: Option<String>,
    /// The URL of the authority's directory.
    pub directory: String,
    pub roots: TrustedRoots,
}

/// Presents the certificate of the database, and orders one when there is none or it is due, until the stop. `changed`
/// gets each of them.
///
/// A failed order is logged and tried again; until then the certificate before stays.
pub(in crate::serve) async fn keep(
    app: &App,
    options: &AcmeOptions,
    presented: &Presented,
    changed: impl Fn(CertifiedKey),
    mut stop: watch::Receiver<bool>,
) {
    let mut due = match restore(app, options).await {
        Ok(Some((key, is_wanted))) => {
            say("of the database", &key, app.clock.now());
            let due = if is_wanted { renewal(&key) } else { Time::EPOCH };
            changed(key);
            due
        }
        Ok(None) => Time::EPOCH,
        Err(error) => {
            tracing::error!(error = %Chain(&error), "the certificate of the database cannot be read: {}", Chain(&error));
            Time::EPOCH
        }
    };
    let (mut failures, mut over_http) = (failures_before(app, options).await, true);
    if N_FAILURES_UNTIL_PATIENCE <= failures.n_failures {
        due = due.max(failures.retry_at.min(app.clock.now().plus_s(RETRY_S_MAX)));
        tracing::warn!(
            "the last {} orders of a certificate failed; the next attempt is at {due}, or after `systemctl reload posture`",
            failures.n_failures
        );
    }
    let mut asked_from = Time::EPOCH;
    loop {
        if due <= app.clock.now() {
            let ordered = tokio::select! {
                _ = stop.wait_for(|stopping| *stopping) => return,
                ordered = timeout(ORDER_TIMEOUT, order(app, options, presented, over_http)) => ordered,
            };
            presented.change_challenges(|it| *it = super::Challenges::default());
            let late = |_| Error::unavailable("the authority did not issue it in time");
            match ordered.map_err(late).flatten() {
                Ok((key, issued)) => {
                    let (from, now) = (format!("of {}", options.directory), app.clock.now());
                    say(&from, &key, now);
                    due = renewal(&key).max(now.plus_s(ISSUE_GAP_S));
                    changed(key);
                    (failures.n_failures, asked_from) = (0, Time::EPOCH);
                    if let Err(error) = app.put_certificate(issued).await {
                        tracing::error!(
                            error = %Chain(&error),
                            "the new certificate could not be stored; it is presented until the service stops: {}", Chain(&error)
                        );
                    }
                }
                Err(error) => {
                    // A firewall may let only one of the two ports through.
                    over_http = !over_http;
                    due = note_failure(app, &mut failures, &error).await;
                    if N_FAILURES_UNTIL_PATIENCE <= failures.n_failures {
                        asked_from = app.clock.now().plus_s(ASKED_GAP_S);
                    }
                }
            }
        }
        tokio::select! {
            _ = stop.wait_for(|stopping| *stopping) => return,
            () = presented.renew_now.notified() => if failures.n_failures != 0 { due = asked_from },
            () = sleep(LOOK_EVERY) => (),
        }
    }
}

/// Logs and stores that an order failed. Returns when the next one is placed.
async fn note_failure(app: &App, failures: &mut AcmeFailures, error: &Error) -> Time {
    let wait_s = RETRY_S_MAX.min(RETRY_S_MIN << failures.n_failures.min(16));
    failures.n_failures = failures.n_failures.saturating_add(1);
    failures.retry_at = app.clock.now().plus_s(wait_s);
    let AcmeFailures { directory, domains, retry_at, .. } = &*failures;
    tracing::error!(
        error = %Chain(error),
        "no certificate for {} from {directory}: {}; the next attempt is at {retry_at}, or after `systemctl reload posture`",
        domains.join(", "), Chain(error)
    );
    if let Err(error) = app.certificate_failed(failures.clone()).await {
        tracing::warn!("that the order failed could not be stored: {}", Chain(&error));
    }
    failures.retry_at
}

/// The failures of the last start, if they are of the same order.
async fn failures_before(app: &App, options: &AcmeOptions) -> AcmeFailures {
    let (directory, domains) = (options.directory.clone(), options.domains.clone());
    let found = app.find_certificate_failures().await.unwrap_or_else(|error| {
        tracing::warn!("the failed orders of the last start cannot be read: {}", Chain(&error));
        None
    });
    let none = AcmeFailures { directory, domains, n_failures: 0, retry_at: Time::EPOCH };
    let is_same = |it: &AcmeFailures| it.directory == none.directory && it.domains == none.domains;
    found.filter(is_same).unwrap_or(none)
}

/// The certificate of the database, and whether it is for these names and from this authority. If it is not, it is still
/// better than none until the new one is there.
async fn restore(app: &App, options: &AcmeOptions) -> Result<Option<(CertifiedKey, bool)>> {
    let Some(issued) = app.find_certificate().await? else { return Ok(None) };
    let [mut before, mut wanted] = [&issued.domains, &options.domains].map(Clone::clone);
    before.sort_unstable();
    wanted.sort_unstable();
    let is_wanted = before == wanted && issued.directory == options.directory;
    pair(&issued).map(|key| Some((key, is_wanted)))
}

fn pair(issued: &IssuedCertificate) -> Result<CertifiedKey> {
    let chain = CertificateDer::pem_slice_iter(issued.chain_pem.as_bytes())
        .collect::<std::result::Result<Vec<_>, _>>()
        .map_err(Error::internal)?;
    let key = PrivateKeyDer::from_pem_slice(issued.key_pem.as_bytes()).map_err(Error::internal)?;
    certified(&chain, &key).map_err(Error::internal)
}

/// When it is renewed. A certificate that cannot be decoded is renewed at once.
fn renewal(key: &CertifiedKey) -> Time {
    let Some(certificate) = certificate(key) else { return Time::EPOCH };
    let valid_s = certificate.until.s_since(certificate.from);
    certificate.until.plus_s(-valid_s / RENEW_WITH_LEFT)
}

async fn order(
    app: &App,
    options: &AcmeOptions,
    presented: &Presented,
    over_http: bool,
) -> Result<(CertifiedKey, IssuedCertificate)> {
    let names: Vec<_> = options.domains.iter().cloned().map(Identifier::Dns).collect();
    let wanted = NewOrder::new(&names);
    let begun = match known_account(app, options).await? {
        Some(account) => {
            tell_contact(app, options, &account).await;
            if let Some(issued) = resume(app, options, &account).await? {
                return Ok(issued);
            }
            Some(account.new_order(&wanted).await)
        }
        None => None,
    };
    let mut order = match begun {
        Some(begun) if !begun.as_ref().is_err_and(is_unknown_account) => begun.map_err(refused)?,
        _ => new_account(app, options).await?.new_order(&wanted).await.map_err(refused)?,
    };
    prove(&mut order, presented, over_http).await?;
    let policy = RetryPolicy::new().timeout(ORDER_TIMEOUT);
    match order.poll_ready(&policy).await {
        Ok(OrderStatus::Ready) => (),
        Ok(_) | Err(instant_acme::Error::Api(_)) => {
            return Err(Error::unavailable(why(&mut order).await));
        }
        Err(error) => return Err(refused(error)),
    }
    let key = KeyPair::generate().map_err(Error::internal)?;
    let proven = ProvenOrder {
        directory: options.directory.clone(),
        domains: options.domains.clone(),
        url: order.url().to_owned(),
        at: app.clock.now(),
        key_pem: key.serialize_pem(),
    };
    if let Err(error) = app.put_order(proven).await {
        tracing::warn!(
            "the order could not be stored; a restart would place another: {}",
            Chain(&error)
        );
    }
    finish(options, &mut order, &key).await.map_err(refused)
}

/// Has the certificate of a proven order issued, unless it was before, and fetches it.
async fn finish(
    options: &AcmeOptions,
    order: &mut Order,
    key: &KeyPair,
) -> std::result::Result<(CertifiedKey, IssuedCertificate), instant_acme::Error> {
    let other = |error: rcgen::Error| instant_acme::Error::Other(Box::new(error));
    match order.state().status {
        OrderStatus::Ready => {
            let mut params = CertificateParams::new(options.domains.clone()).map_err(other)?;
            params.distinguished_name = DistinguishedName::new();
            let request = params.serialize_request(key).map_err(other)?;
            order.finalize_csr(request.der()).await?;
        }
        OrderStatus::Processing | OrderStatus::Valid => (),
        OrderStatus::Pending | OrderStatus::Invalid => {
            return Err(instant_acme::Error::Str("an order that is still valid"));
        }
    }
    let issued = IssuedCertificate {
        directory: options.directory.clone(),
        domains: options.domains.clone(),
        chain_pem: order.poll_certificate(&RetryPolicy::new().timeout(ORDER_TIMEOUT)).await?,
        key_pem: key.serialize_pem(),
    };
    let pair = pair(&issued).map_err(|it| Chain(&it).to_string());
    Ok((pair.map_err(|it| instant_acme::Error::Other(it.into()))?, issued))
}

/// Continues the order that the last attempt could not finish, because authorities limit how many are placed. `None`: there
/// is none, or it cannot be continued.
///
/// # Errors
/// `Unavailable` if the authority does not answer. The next attempt continues it.
async fn resume(
    app: &App,
    options: &AcmeOptions,
    account: &Account,
) -> Result<Option<(CertifiedKey, IssuedCertificate)>> {
    let Some(proven) = app.find_order().await? else { return Ok(None) };
    let age_s = app.clock.now().s_since(proven.at);
    let is_wanted = proven.directory == options.directory && proven.domains == options.domains;
    if !is_wanted || !(0..=RESUME_S_MAX).contains(&age_s) {
        return app.remove_order().await.map(|()| None);
    }
    let key = KeyPair::from_pem(&proven.key_pem).map_err(Error::internal)?;
    let resumed = match account.order(proven.url).await {
        Ok(mut order) => finish(options, &mut order, &key).await,
        Err(error) => Err(error),
    };
    match resumed {
        Ok(issued) => Ok(Some(issued)),
        Err(error) if may_pass(&error) => Err(refused(error)),
        Err(error) => {
            tracing::info!("the last order cannot be continued, a new one is placed: {error}");
            app.remove_order().await.map(|()| None)
        }
    }
}

/// Whether the authority may answer otherwise later: it did not answer at all, is out of order, or limits requests.
fn may_pass(error: &instant_acme::Error) -> bool {
    let instant_acme::Error::Api(problem) = error else {
        return matches!(error, instant_acme::Error::Other(_));
    };
    problem.status.is_some_and(|it| it == 429 || 500 <= it)
}

fn client(options: &AcmeOptions) -> Result<AccountBuilder> {
    let policy = EgressPolicy::for_acme(options.roots.clone());
    let egress = Egress::new(policy, REQUEST_TIMEOUT, 1)?;
    Ok(Account::builder_with_http(Box::new(AcmeHttp(Arc::new(egress)))))
}

/// The account of the database.
async fn known_account(app: &App, options: &AcmeOptions) -> Result<Option<Account>> {
    let Some(text) = app.find_acme_account(&options.directory).await? else { return Ok(None) };
    let Ok(credentials) = serde_json::from_str::<AccountCredentials>(&text) else {
        return Ok(None);
    };
    client(options)?.from_credentials(credentials).await.map(Some).map_err(refused)
}

/// Tells the authority where it may write to, if that changed. The certificate does not depend on it: a failure is logged,
/// and the next order is the next attempt.
async fn tell_contact(app: &App, options: &AcmeOptions, account: &Account) {
    let wanted = contact(options);
    let urls = contact_urls(&wanted);
    let told = async {
        if app.find_acme_contact().await?.is_some_and(|it| it == wanted) {
            return Ok(());
        }
        let urls: Vec<_> = urls.iter().map(String::as_str).collect();
        match account.update_contacts(&urls).await {
            // The order finds out, too, and makes a new one.
            Err(error) if is_unknown_account(&error) => Ok(()),
            told => {
                told.map_err(refused)?;
                app.put_acme_contact(wanted).await
            }
        }
    };
    if let Err(error) = told.await {
        tracing::warn!(
            error = %Chain(&error),
            "{} could not be told the new server.acme_email: {}", options.directory, Chain(&error)
        );
    }
}

fn contact(options: &AcmeOptions) -> AcmeContact {
    AcmeContact { directory: options.directory.clone(), email: options.email.clone() }
}

fn contact_urls(contact: &AcmeContact) -> Vec<String> {
    contact.email.iter().map(|it| format!("mailto:{it}")).collect()
}

/// The authority no longer knows the account.
fn is_unknown_account(error: &instant_acme::Error) -> bool {
    let instant_acme::Error::Api(problem) = error else { return false };
    problem.r#type.as_deref() == Some("urn:ietf:params:acme:error:accountDoesNotExist")
}

/// To use an authority is to accept its terms.
async fn new_account(app: &App, options: &AcmeOptions) -> Result<Account> {
    let contact = contact(options);
    let urls = contact_urls(&contact);
    let wanted = NewAccount {
        contact: &urls.iter().map(String::as_str).collect::<Vec<_>>(),
        terms_of_service_agreed: true,
        only_return_existing: false,
    };
    let created = client(options)?.create(&wanted, options.directory.clone(), None).await;
    let (account, credentials) = created.map_err(refused)?;
    let text = serde_json::to_string(&credentials).map_err(Error::internal)?;
    app.put_acme_account(contact, &text).await?;
    Ok(account)
}

/// Makes the answers to the authority's challenges available, then lets it ask.
async fn prove(order: &mut Order, presented: &Presented, over_http: bool) -> Result<()> {
    let mut authorizations = order.authorizations();
    while let Some(authorization) = authorizations.next().await {
        let mut authorization = authorization.map_err(refused)?;
        if authorization.status == AuthorizationStatus::Valid {
            continue;
        }
        let kind = if over_http { ChallengeType::Http01 } else { ChallengeType::TlsAlpn01 };
        let Some(mut challenge) = authorization.challenge(kind.clone()) else {
            return Err(Error::unavailable(format!("the authority does not offer {kind:?}")));
        };
        let proof = challenge.key_authorization();
        if over_http {
            let (token, proof) = (challenge.token.clone(), proof.as_str().to_owned());
            presented.change_challenges(|it| drop(it.by_token.insert(token, proof)));
        } else {
            let domain = challenge.identifier().to_string();
            let shown = proof_certificate(&domain, &proof)?;
            presented.change_challenges(|it| drop(it.by_domain.insert(domain, Arc::new(shown))));
        }
        challenge.set_ready().await.map_err(refused)?;
    }
    Ok(())
}

/// The certificate that proves control over a domain in a handshake (RFC 8737).
fn proof_certificate(domain: &str, proof: &KeyAuthorization) -> Result<CertifiedKey> {
    let mut params = CertificateParams::new([domain.to_owned()]).map_err(Error::internal)?;
    let digest = CustomExtension::new_acme_identifier(proof.digest().as_ref());
    params.custom_extensions = vec![digest];
    let key = KeyPair::generate().map_err(Error::internal)?;
    let signed = params.self_signed(&key).map_err(Error::internal)?;
    let key = PrivateKeyDer::try_from(key.serialize_der()).map_err(Error::internal)?;
    // `certified` refuses it: the extension is critical, and only the authority knows it.
    let key =
        ring::default_provider().key_provider.load_private_key(key).map_err(Error::internal)?;
    Ok(CertifiedKey::new(vec![signed.der().clone()], key))
}

/// What the authority found wrong with the proof, by domain.
async fn why(order: &mut Order) -> String {
    let mut reasons = BTreeMap::new();
    let mut authorizations = order.authorizations();
    while let Some(Ok(mut authorization)) = authorizations.next().await {
        let domain = authorization.identifier().to_string();
        let Ok(state) = authorization.refresh().await else { continue };
        let mut problems = state.challenges.iter().filter_map(|it| it.error.as_ref());
        if let Some(problem) = problems.next_back() {
            let detail = problem.detail.clone();
            reasons.insert(domain, detail.unwrap_or_else(|| problem.to_string()));
        }
    }
    let reasons: Vec<_> = reasons.iter().map(|(domain, why)| format!("{domain}: {why}")).collect();
    format!("the authority could not verify {}", reasons.join("; "))
}

/// The text says it all: as a cause it would be logged twice.
fn refused(error: impl std::fmt::Display) -> Error {
    Error::unavailable(error.to_string())
}
