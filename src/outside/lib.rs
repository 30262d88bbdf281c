//! The ways out of Posture: outbound calls, connections to vendors, scans, sign-in elsewhere, mail, the format of a delivery.
//! None of them knows the store.

use posture_core::{
    blocking, bounded_file, catalog, clock, encoding, engine, error, import, origin, secret, text,
    toml_reader,
};

pub mod connect;
pub mod egress;
pub mod mail;
pub mod oidc;
pub mod passkey;
pub mod scan;
pub mod webhook;
