//! Tests through the front door, as sentences that are true.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test that cannot go on says so")]
#![allow(unreachable_pub, reason = "nothing here leaves the crate; `pub` says what a file gives")]

mod abuse;
mod acme;
mod audit;
mod backup;
mod cli;
mod clock;
mod config;
mod connect;
mod console;
mod crash;
mod disk;
mod document;
mod edge;
mod egress;
mod encoding;
mod fair;
mod fuzz;
mod harness;
mod http2;
mod import;
mod ingest;
mod ingestions;
mod isolation;
mod keys;
mod large_run;
mod largest;
mod limits;
mod link;
mod listen;
mod mail;
mod manage;
mod mfa;
mod network;
mod openapi;
mod packaging;
mod page;
mod postgres;
mod request_id;
mod scan;
mod secret;
mod slots;
mod story;
mod strangers;
mod suite;
mod supervisor;
mod tickets;
mod tls;
mod traffic;
mod upgrade;
mod users;
mod v1;
mod webhook;
