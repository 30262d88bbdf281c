//! A reader who follows a chapter of the guide, command by command, on a fresh installation.

use std::collections::{BTreeSet, VecDeque};
use std::process::Command;

use serde_json::Value;

use super::chapter::{CONNECT, Chapter, INSTALL};
use super::{CHAPTERS, ENTERED};
use crate::connect::tenant::{controls, ran, shown, streams};
use crate::harness::process::{Done, Folder, Server, binary, finish};

pub struct Walk {
    pub folder: Folder,
    kind: &'static str,
    chapter: Chapter,
    _server: Server,
    client: String,
    /// Those that were not run yet.
    blocks: VecDeque<String>,
    entered: Vec<Entered>,
}

/// What the reader enters instead of what is written.
struct Entered {
    written: String,
    instead: String,
    is_used: bool,
}

impl Walk {
    /// Installs Posture in the folder, which has a configuration, and opens the chapter of a kind.
    pub fn start(kind: &'static str, folder: Folder) -> Self {
        let (_, headings) = CHAPTERS.iter().find(|it| it.0 == kind).unwrap();
        let chapter = CONNECT.below(headings);
        let named = INSTALL.spans();
        let command = |text: &str| {
            assert!(named.contains(text), "the guide does not say `{text}`");
            succeed(&folder, text)
        };
        let said = command("posture init");
        assert!(said.contains("kept posture.toml"), "{said}");
        let server = folder.serve();
        let client = command("posture client add --name 'Acme Ltd'").trim_end().to_owned();
        let blocks = chapter.blocks("sh").into();
        let mut walk =
            Self { folder, kind, chapter, _server: server, client, blocks, entered: Vec::new() };
        for (_, written, instead) in ENTERED.iter().filter(|it| it.0 == kind) {
            walk.enter(written, instead);
        }
        walk
    }

    /// From now on this is entered where the other is written.
    pub fn enter(&mut self, written: &str, instead: &str) {
        let (written, instead) = (written.to_owned(), instead.to_owned());
        self.entered.push(Entered { written, instead, is_used: false });
    }

    /// Runs a command that a sentence of the guide names. Returns what it prints.
    pub fn run(&mut self, command: &str) -> String {
        assert!(CONNECT.spans().contains(command), "the guide does not say `{command}`");
        self.run_text(command)
    }

    /// Like [`Walk::run`], of a command that fails.
    pub fn fail(&mut self, command: &str) -> Done {
        assert!(CONNECT.spans().contains(command), "the guide does not say `{command}`");
        let script = self.entering(command);
        let done = run(&self.folder, &script);
        assert_eq!(done.code, 1, "{script}: {done:?}");
        done
    }

    /// Runs the next block of the chapter. Returns what it prints.
    pub fn run_block(&mut self) -> String {
        let block = self.take_block();
        self.run_text(&block)
    }

    pub fn take_block(&mut self) -> String {
        self.blocks.pop_front().expect("the chapter has another block")
    }

    pub fn run_text(&mut self, text: &str) -> String {
        let script = self.entering(text);
        succeed(&self.folder, &script)
    }

    /// Runs the next block, which adds a connection, as [`Walk::added`].
    /// What the first run lacks is said on standard error.
    pub fn add(&mut self) -> String {
        let block = self.take_block();
        let script = self.entering(&block);
        let done = run(&self.folder, &script);
        assert_eq!(done.code, 0, "{script}: {done:?}");
        self.added(&done.out)
    }

    /// Waits for the first run of the connection whose id was printed first. Returns what was printed after it.
    pub fn added(&mut self, out: &str) -> String {
        let (id, rest) = out.split_once('\n').unwrap();
        self.enter("ID", id);
        ran(&self.folder, id, &Value::Null);
        rest.to_owned()
    }

    pub fn connection(&self) -> &str {
        &self.entered.iter().find(|it| it.written == "ID").expect("one was added").instead
    }

    fn entering(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for it in &mut self.entered {
            let entered = replace_words(&text, &it.written, &it.instead);
            it.is_used |= entered != text;
            text = entered;
        }
        text
    }

    /// The connection reads everything, and the guide names what is read and what follows from it.
    ///
    /// `less`: the streams that are not complete, with their states. `more`: the controls that the guide names and that
    /// do not follow from what this environment has.
    pub fn assert_reads(mut self, less: &[(&str, &str)], more: &[&str]) {
        self.assert_complete(less);
        let (decided, named) = (self.decided(), self.chapter.controls());
        let unnamed: Vec<_> = decided.difference(&named).collect();
        assert!(unnamed.is_empty(), "the guide does not say that it decides {unnamed:?}");
        let undecided: BTreeSet<&str> = named.difference(&decided).map(String::as_str).collect();
        assert_eq!(
            undecided,
            more.iter().copied().collect(),
            "the guide says that it decides them"
        );
        self.assert_followed();
    }

    /// The connection reads everything but these streams, which have these states, or are `absent`.
    pub fn assert_complete(&mut self, less: &[(&str, &str)]) {
        let kinds = self.run("posture connect kinds");
        let is_kind = |it: &str| it.split(' ').next() == Some(self.kind);
        assert!(kinds.lines().any(is_kind), "{kinds}");
        self.run("posture connect test ID");
        self.run("posture connect sync ID");
        let now = shown(&self.folder, self.connection());
        assert_eq!(now["health"], "healthy", "{now}");
        let states = streams(&now).into_iter().map(|it| (it.0, it.1));
        let mut states: BTreeSet<(String, String)> = states.collect();
        let found: BTreeSet<String> = states.iter().map(|it| it.0.clone()).collect();
        let named = self.chapter.names(&["stream", "streams"]);
        if !named.is_empty() {
            let unnamed: Vec<_> = found.difference(&named).collect();
            assert!(unnamed.is_empty(), "the guide does not say that it reads {unnamed:?}");
            states.extend(named.difference(&found).map(|it| (it.clone(), "absent".to_owned())));
        }
        let found_less = states.iter().filter(|it| it.1 != "complete");
        let found_less = found_less.map(|it| (it.0.as_str(), it.1.as_str()));
        assert_eq!(found_less.collect::<BTreeSet<_>>(), less.iter().copied().collect(), "{now}");
        let client = self.run("posture show 'Acme Ltd'");
        assert!(client.lines().any(|it| it.starts_with("controls ")), "it has a score: {client}");
    }

    /// The controls of the client that are assessed. It has no other source.
    pub fn decided(&self) -> BTreeSet<String> {
        let all = controls(&self.folder, &self.client).into_iter();
        all.filter(|it| it.1 != "not_assessed").map(|it| it.0).collect()
    }

    /// The reader ran everything, and knew what to enter.
    pub fn assert_followed(self) {
        assert!(self.blocks.is_empty(), "not run: {:?}", self.blocks);
        for it in self.entered {
            assert!(it.is_used, "the guide does not say {} any more", it.written);
        }
    }

    /// The guide names every path that was asked for, and these more.
    pub fn assert_calls(&self, asked: impl IntoIterator<Item = String>, more: &[&str]) {
        let named = self.chapter.names(&["call"]);
        let mut used = BTreeSet::new();
        for target in asked {
            let path = target.trim_start_matches("GET ").split('?').next().unwrap();
            let call = named.iter().find(|it| is_call(path, it));
            used.insert(call.unwrap_or_else(|| panic!("the guide does not name {path}")).as_str());
        }
        let unused = named.iter().map(String::as_str).filter(|it| !used.contains(it));
        assert_eq!(unused.collect::<Vec<_>>(), more, "nothing asked for them");
    }
}

/// Whether a call of the guide is this path: `{id}` is any part of it, and one that does not begin with `/` is its end.
fn is_call(path: &str, call: &str) -> bool {
    let parts = |it: &str| {
        it.split('/').filter(|it| !it.is_empty()).rev().map(str::to_owned).collect::<Vec<_>>()
    };
    let call = call.split('?').next().unwrap();
    let (path, named) = (parts(path), parts(call.trim_start_matches("...")));
    let is_long_enough =
        if call.starts_with('/') { path.len() == named.len() } else { named.len() <= path.len() };
    let mut pairs = path.iter().zip(&named);
    is_long_enough && pairs.all(|(it, named)| it == named || named.starts_with('{'))
}

/// In a shell, where `posture` is the program under test.
fn run(folder: &Folder, script: &str) -> Done {
    let script = format!("posture() {{ \"$BINARY\" \"$@\"; }}\n{script}");
    let mut shell = Command::new("sh");
    shell.current_dir(folder.path()).env_remove("POSTURE_CONFIG").env("BINARY", binary());
    finish(shell.args(["-eu", "-c", &script]))
}

fn succeed(folder: &Folder, script: &str) -> String {
    let Done { code, out, err } = run(folder, script);
    assert_eq!((code, &*err), (0, ""), "{script}: {out}");
    out
}

/// Replaces what is written where it is not a part of a longer word.
fn replace_words(text: &str, written: &str, instead: &str) -> String {
    let is_word = |it: char| it.is_ascii_alphanumeric() || it == '_';
    let mut replaced = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(written) {
        let (before, after) = (&rest[..at], &rest[at + written.len()..]);
        let is_whole = !before.ends_with(is_word) && !after.starts_with(is_word);
        replaced.extend([before, if is_whole { instead } else { written }]);
        rest = after;
    }
    replaced + rest
}
