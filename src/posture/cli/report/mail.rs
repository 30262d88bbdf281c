//! `posture mail`: try the mail settings.

use clap::Subcommand;
use serde_json::json;

use crate::cli::call::{Call, call};
use crate::cli::print;
use crate::config::Config;
use crate::error::{Error, Result};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum MailCommand {
    /// Send one message, and say what the server said.
    #[command(after_help = "\
Example:
  posture mail test ada@example.com")]
    Test {
        /// Address to send it to.
        address: String,
    },
}

/// # Errors
/// `Unavailable` if the server did not take the message.
pub(in crate::cli) fn run(options: &Config, json: bool, command: &MailCommand) -> Result<()> {
    let MailCommand::Test { address } = command;
    let answer = call(options, Call::of("POST", "/api/mail/test", &json!({ "to": address })))?;
    let message = print::cell(&answer["data"]["message"]);
    if json {
        print::json(&answer)?;
    } else if answer["data"]["delivered"] == true {
        return print::line(&format!("the server took the message: {message}"));
    }
    let kind = answer["data"]["kind"].as_str();
    kind.map_or(Ok(()), |it| Err(Error::unavailable(format!("{it}: {message}"))))
}
