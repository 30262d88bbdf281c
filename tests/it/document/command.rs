//! The `posture` commands in the documents, compared with the help of the program.

use std::collections::{BTreeMap, BTreeSet};

use super::markdown::documents;
use super::shell;
use crate::harness::process::Folder;

/// What `posture` says of one of its commands.
struct Help {
    commands: BTreeSet<String>,
    /// Whether the command does nothing without another word.
    needs_command: bool,
    /// Each with whether it takes a value.
    flags: BTreeMap<String, bool>,
}

impl Help {
    fn of(folder: &Folder, command: &[&str]) -> Self {
        let text = folder.ok(&[command, &["--help"]].concat());
        let mut help = Self {
            commands: BTreeSet::new(),
            needs_command: text
                .lines()
                .any(|it| it.starts_with("Usage:") && it.contains("<COMMAND>")),
            flags: BTreeMap::new(),
        };
        let mut in_commands = false;
        for line in text.lines() {
            in_commands = line == "Commands:" || (in_commands && line.starts_with("  "));
            if let Some(name) = line.strip_prefix("  ").filter(|_| in_commands) {
                help.commands.extend(name.split(' ').next().map(str::to_owned));
            }
            let options = line.trim_start().split("  ").next().unwrap();
            if let Some(at) = options.find("--").filter(|_| line.starts_with(' ')) {
                let flag = options[at..].split([' ', '[']).next().unwrap().trim_end_matches("...");
                help.flags.insert(flag.to_owned(), options.contains('<'));
            }
        }
        help
    }
}

/// Asks each command for its help once.
struct Helps {
    folder: Folder,
    known: BTreeMap<String, Help>,
}

impl Helps {
    fn of(&mut self, command: &[&str]) -> &Help {
        let folder = &self.folder;
        self.known.entry(command.join(" ")).or_insert_with(|| Help::of(folder, command))
    }

    /// What is wrong with the words of a `posture` command. In a sentence it need not be whole.
    fn fault(&mut self, words: &[String], is_span: bool) -> Option<String> {
        let mut command: Vec<&str> = Vec::new();
        let mut words = words.iter().map(String::as_str).peekable();
        while let Some(word) = words.next() {
            if [">", "<", "--"].contains(&word) {
                break;
            }
            let help = self.of(&command);
            if word.starts_with("--") {
                let (flag, value) = match word.split_once('=') {
                    Some((flag, _)) => (flag, true),
                    None => (word, false),
                };
                let Some(takes_value) = help.flags.get(flag) else {
                    return Some(format!("`posture {}` has no {flag}", command.join(" ")));
                };
                if *takes_value && !value {
                    words.next();
                }
            } else if help.commands.contains(word) {
                command.push(word);
            } else if help.needs_command {
                return Some(format!("`posture {}` has no command {word}", command.join(" ")));
            }
        }
        let needs_more = self.of(&command).needs_command && !is_span;
        needs_more.then(|| format!("`posture {}` is not a whole command", command.join(" ")))
    }
}

/// The words after `posture`, if that is what a command runs.
fn of_posture(words: &[String]) -> Option<&[String]> {
    let at = words.iter().position(|it| it == "--").filter(|_| words[0] == "runuser");
    let words = at.map_or(words, |at| &words[at + 1..]);
    let (name, rest) = words.split_first()?;
    let is_posture = name == "posture-admin" || name.rsplit('/').next() == Some("posture");
    // `$@` is for what a function is called with.
    let is_open = rest.is_empty() || rest.iter().any(|it| it == "$@");
    (is_posture && !is_open).then_some(rest)
}

#[test]
fn every_command_in_the_documents_exists() {
    let mut helps = Helps { folder: Folder::new(), known: BTreeMap::new() };
    let mut n_commands = 0;
    for document in documents() {
        let scripts = document.blocks_in("sh").map(|it| (it, false));
        let spans = document.spans.iter().filter(|it| it.starts_with("posture "));
        for (script, is_span) in scripts.chain(spans.map(|it| (it.as_str(), true))) {
            for words in shell::commands(script) {
                let Some(words) = of_posture(&words) else { continue };
                let fault = helps.fault(words, is_span);
                assert!(fault.is_none(), "{}: {}: {words:?}", document.name(), fault.unwrap());
                n_commands += 1;
            }
        }
    }
    assert!(60 < n_commands, "{n_commands}");
    let wrong = |line: &str| helps.fault(&shell::commands(line)[0], false);
    assert_eq!(
        ["client list", "client none", "client", "client list --none", "--config x config check"]
            .map(wrong),
        [
            None,
            Some("`posture client` has no command none".to_owned()),
            Some("`posture client` is not a whole command".to_owned()),
            Some("`posture client list` has no --none".to_owned()),
            None,
        ]
    );
}
