//! The help of the command line describes everything that a command takes.

use clap::{Command, CommandFactory};
use posture::cli::Cli;

/// Every command, option and argument without a help text, of this command and of those below it.
fn undescribed(command: &Command, path: &str) -> Vec<String> {
    let name = format!("{path}{}", command.get_name());
    let arguments = command.get_arguments().filter(|it| !it.is_hide_set());
    let mut found: Vec<String> = arguments
        .filter(|it| it.get_help().is_none_or(|help| help.to_string().trim().is_empty()))
        .map(|it| format!("{name}: {it}"))
        .collect();
    if command.get_about().is_none_or(|about| about.to_string().trim().is_empty()) {
        found.push(name.clone());
    }
    let below = command.get_subcommands();
    found.extend(below.flat_map(|it| undescribed(it, &format!("{name} "))));
    found
}

#[test]
fn every_command_option_and_argument_has_a_help_text() {
    let mut command = Cli::command();
    command.build();
    assert_eq!(undescribed(&command, ""), [""; 0]);
}
