//! Signing in at an identity provider: the authorization-code flow of OpenID Connect, with PKCE.
//!
//! What the provider says is believed once its ID token proved to be from it, for this service, for this flow and of now.
//! Nothing else that a browser brings counts.

mod algorithm;
mod claims;
mod date;
mod fault;
mod flow;
mod id_token;
mod key_set;
mod metadata;
mod provider;
mod secret;
mod survey;

pub use claims::Claims;
pub use fault::Fault;
pub use flow::{Flow, LIFE_S};
pub use provider::{Answered, OidcProvider, OidcSettings, Wanted};
pub use secret::ClientSecret;
pub use survey::Survey;

/// The clock of the provider may differ from ours by so much.
pub const LEEWAY_S: i64 = 60;
