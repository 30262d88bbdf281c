//! What a provider offers, compared with what is taken from it.

use super::OidcProvider;
use super::algorithm::{ACCEPTED, Algorithm};
use super::fault::Fault;
use super::key_set::KeySet;
use super::metadata::{self, Metadata, Offered};
use crate::text::line;

/// Longer lists of a provider are cut.
const OFFERED_CHARS_MAX: usize = 200;
const NOT_FOUND: u16 = 404;

/// What there is to say before anybody signs in. Each begins with the setting that it is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Why nobody can sign in, and what to set.
    pub problems: Vec<String>,
    /// What may be wrong.
    pub notes: Vec<String>,
}

/// A list of the discovery document, of which one value must be taken.
struct Demand {
    name: &'static str,
    list: fn(&Metadata) -> &Offered,
    is_taken: fn(&str) -> bool,
    advice: &'static str,
}

const DEMANDS: [Demand; 4] = [
    Demand {
        name: "response_types_supported",
        list: |it| &it.response_types_supported,
        is_taken: |it| it == "code",
        advice: "allow the authorization code flow (code) for this client",
    },
    Demand {
        name: "response_modes_supported",
        list: |it| &it.response_modes_supported,
        is_taken: |it| it == "query",
        advice: "allow answers in the query (query) for this client",
    },
    Demand {
        name: "code_challenge_methods_supported",
        list: |it| &it.code_challenge_methods_supported,
        is_taken: |it| it == "S256",
        advice: "allow PKCE with S256 for this client",
    },
    Demand {
        name: "token_endpoint_auth_methods_supported",
        list: |it| &it.token_endpoint_auth_methods_supported,
        is_taken: |it| PROOFS.contains(&it),
        advice: "allow client_secret_basic or client_secret_post for this client",
    },
];
/// How the service can prove to be the client; the last without a secret.
const PROOFS: [&str; 3] = ["client_secret_basic", "client_secret_post", "none"];

impl Survey {
    fn problem(&mut self, what: &str) {
        self.problems.push(format!("oidc.issuer: {what}"));
    }

    fn note(&mut self, what: &str) {
        self.notes.push(format!("oidc.issuer: {what}"));
    }

    /// Of what the provider says of itself.
    pub(super) fn of(metadata: &Metadata, has_secret: bool) -> Self {
        let mut survey = Self::default();
        for Demand { name, list, is_taken, advice } in &DEMANDS {
            let offered = list(metadata);
            if !offered.is_empty() && !offered.has(is_taken) {
                let shown = shown(offered.iter());
                survey.problem(&format!("the provider offers {shown} alone ({name}); {advice}"));
            }
        }
        survey.judge_algorithms(&metadata.id_token_signing_alg_values_supported);
        let proofs = &metadata.token_endpoint_auth_methods_supported;
        let is_secret = |it: &str| PROOFS[..2].contains(&it);
        if has_secret && proofs.has(|it| it == "none") && !proofs.has(is_secret) {
            survey.problem(
                "the provider takes no client secret (token_endpoint_auth_methods_supported); remove oidc.client_secret_file",
            );
        }
        if !has_secret && proofs.has(is_secret) && !proofs.has(|it| it == "none") {
            survey.note(
                "the provider does not list clients without a secret (token_endpoint_auth_methods_supported); if it refuses this \
                 one, set oidc.client_secret_file",
            );
        }
        survey
    }

    fn judge_algorithms(&mut self, offered: &Offered) {
        let is_taken = |it: &str| Algorithm::parse(it).is_some();
        let others = offered.iter().filter(|it| !is_taken(it) && *it != "none");
        let others = shown(others);
        let name = "id_token_signing_alg_values_supported";
        if offered.is_empty() || others.is_empty() {
            return;
        }
        if offered.has(is_taken) {
            return self.note(&format!(
                "the provider may also sign ID tokens with {others} ({name}), which is not accepted; if this client is set so \
                 there, choose {ACCEPTED}"
            ));
        }
        self.problem(&format!(
            "the provider signs ID tokens with {others} alone ({name}), which is not accepted; have it sign for this client with \
             {ACCEPTED}"
        ));
    }
}

fn shown<'a>(names: impl Iterator<Item = &'a str>) -> String {
    line(&names.collect::<Vec<_>>().join(", "), OFFERED_CHARS_MAX)
}

impl OidcProvider {
    /// Asks the provider what it offers. `has_secret`: the configuration names a client secret. A provider that
    /// does not answer is a note: it may be reached from elsewhere, or later.
    pub async fn survey(&self, has_secret: bool) -> Survey {
        let mut survey = Survey::default();
        let url = metadata::url(&self.settings.issuer);
        let unasked = |fault: Fault| format!("the provider was not asked: {}", fault.cause());
        let found = match self.send(&url, Self::request(&url)).await {
            Ok((200, body)) => Metadata::parse(&body, &self.settings.issuer),
            Ok((NOT_FOUND, _)) => Err(Fault::Unreachable(format!(
                "{url}: it answered with status {NOT_FOUND}; set oidc.issuer to exactly the one of your tenant"
            ))),
            Ok((status, _)) => {
                survey.note(&format!("the provider was not asked: {url}: status {status}"));
                return survey;
            }
            Err(fault) => {
                survey.note(&unasked(fault));
                return survey;
            }
        };
        let metadata = match found {
            Ok(metadata) => metadata,
            Err(fault) => {
                survey.problem(&fault.cause());
                return survey;
            }
        };
        survey = Survey::of(&metadata, has_secret);
        match self.get(&metadata.jwks_uri).await.map(|it| KeySet::parse(&it)) {
            Err(fault) => survey.note(&unasked(fault)),
            Ok(Some(keys)) if !keys.is_empty() => (),
            Ok(_) => survey.problem(&format!(
                "{} has no key that verifies a signature; have the provider sign for this client with {ACCEPTED}",
                metadata.jwks_uri
            )),
        }
        survey
    }
}
