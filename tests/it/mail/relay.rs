//! A mail server whose every answer a test chooses.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use crate::harness::sink::Sink;

/// What it says instead of the usual, and what it was told.
#[derive(Default)]
pub(super) struct Script {
    /// By verb; `BANNER` is the first line and `BODY` the end of a message. An answer of several lines has all of them.
    pub(super) answers: BTreeMap<String, String>,
    pub(super) lines: Vec<String>,
}

pub(super) struct Relay {
    pub(super) sink: Sink,
    script: Arc<Mutex<Script>>,
}

impl Relay {
    pub(super) fn start() -> Self {
        Self::start_at("127.0.0.1:0")
    }

    pub(super) fn start_at(at: &str) -> Self {
        let script: Arc<Mutex<Script>> = Arc::default();
        let known = Arc::clone(&script);
        Self { sink: Sink::raw(at, move |stream| talk(&stream, &known)), script }
    }

    pub(super) fn port(&self) -> u16 {
        self.sink.address.port()
    }

    /// From now on, this alone is unusual, and nothing was said.
    pub(super) fn answer(&self, verb: &str, answer: &str) {
        let mut script = self.script.lock().unwrap();
        *script = Script::default();
        script.answers.insert(verb.to_owned(), answer.to_owned());
    }

    /// From now on, nothing is unusual.
    pub(super) fn forget(&self) {
        *self.script.lock().unwrap() = Script::default();
    }

    pub(super) fn lines(&self) -> Vec<String> {
        self.script.lock().unwrap().lines.clone()
    }
}

fn usual(verb: &str) -> &'static str {
    match verb {
        "BANNER" => "220 relay.example ESMTP",
        "EHLO" => "250-relay.example\n250 AUTH PLAIN LOGIN XOAUTH2",
        "AUTH" => "235 2.7.0 ok",
        "DATA" => "354 go on",
        "" => "535 5.7.3 Authentication unsuccessful",
        "QUIT" => "221 2.0.0 bye",
        _ => "250 2.0.0 ok",
    }
}

fn talk(stream: &TcpStream, script: &Mutex<Script>) {
    let say = |verb: &str| {
        let mut out = stream;
        let chosen = script.lock().unwrap().answers.get(verb).cloned();
        let answer = chosen.unwrap_or_else(|| usual(verb).to_owned());
        drop(out.write_all(format!("{}\r\n", answer.replace('\n', "\r\n")).as_bytes()));
        answer
    };
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    let mut in_message = false;
    say("BANNER");
    for line in lines {
        let verb = line.split(' ').next().unwrap_or_default().to_ascii_uppercase();
        if in_message && line != "." {
            continue;
        }
        script.lock().unwrap().lines.push(line);
        let said = say(if in_message { "BODY" } else { &verb });
        in_message = verb == "DATA" && said.starts_with("354");
        if verb == "QUIT" {
            return;
        }
    }
}
