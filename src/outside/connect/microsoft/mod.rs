//! What all connections to Microsoft share: the app that the managed service provider registered, its tokens, its errors.

mod answer;
mod app;
mod certificate;
pub mod check;
mod cloud;
pub mod registration;

pub use answer::DIALECT;
pub use app::{AppKey, CLIENT_SECRET, KEY_PEM, MicrosoftApp, token_source};
pub use certificate::{AppCertificate, generate, read_pem};
pub use cloud::Cloud;
