//! Reads the shell examples of the documents: as much of the language as they use.

use std::iter::Peekable;
use std::str::Chars;

/// The simple commands of a script, each as its words without quotes. Variables stay as they are written.
pub(super) fn commands(script: &str) -> Vec<Vec<String>> {
    let script = without_here_documents(script);
    let mut reader = Reader { rest: script.chars().peekable(), found: Vec::new() };
    reader.read_until(None);
    let mut found = reader.found;
    for words in &mut found {
        let is_prefix = |it: &String| it == "{" || is_assignment(it);
        let n_prefixes = words.iter().take_while(|it| is_prefix(it)).count();
        words.drain(..n_prefixes);
    }
    found.retain(|it| !it.is_empty());
    found
}

fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map(|it| it.0);
    name.is_some_and(|it| {
        !it.is_empty() && it.chars().all(|it| it.is_ascii_alphanumeric() || it == '_')
    })
}

fn without_here_documents(script: &str) -> String {
    let mut kept = String::new();
    let mut end = None;
    for line in script.lines() {
        if end.is_none() {
            kept.push_str(line);
            kept.push('\n');
            end = line.split_once("<<").map(|it| it.1.trim_matches('\'').to_owned());
        } else if end.as_deref() == Some(line) {
            end = None;
        }
    }
    assert!(end.is_none(), "a here-document without an end: {script}");
    kept
}

struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
    found: Vec<Vec<String>>,
}

impl Reader<'_> {
    /// Reads commands up to the character that ends them, or all.
    fn read_until(&mut self, end: Option<char>) {
        let mut words = Vec::new();
        let mut word: Option<String> = None;
        while let Some(it) = self.rest.next() {
            if Some(it) == end {
                break;
            }
            match it {
                '\\' => match self.rest.next() {
                    Some('\n') | None => (),
                    Some(it) => word.get_or_insert_default().push(it),
                },
                '\'' => {
                    let word = word.get_or_insert_default();
                    word.extend(self.rest.by_ref().take_while(|it| *it != '\''));
                }
                '"' => {
                    let quoted = self.read_quoted();
                    word.get_or_insert_default().push_str(&quoted);
                }
                '$' if self.rest.peek() == Some(&'(') => {
                    self.rest.next();
                    self.read_until(Some(')'));
                    word.get_or_insert_default().push_str("$()");
                }
                '#' if word.is_none() => while self.rest.next_if(|it| *it != '\n').is_some() {},
                ' ' => words.extend(word.take()),
                '\n' | ';' | '|' | '&' | '(' | ')' => {
                    words.extend(word.take());
                    self.found.push(std::mem::take(&mut words));
                }
                it => word.get_or_insert_default().push(it),
            }
        }
        words.extend(word);
        self.found.push(words);
    }

    fn read_quoted(&mut self) -> String {
        let mut text = String::new();
        while let Some(it) = self.rest.next() {
            match it {
                '"' => break,
                '\\' => text.extend(self.rest.next()),
                '$' if self.rest.peek() == Some(&'(') => {
                    self.rest.next();
                    self.read_until(Some(')'));
                    text.push_str("$()");
                }
                it => text.push(it),
            }
        }
        text
    }
}

#[test]
fn commands_are_found_inside_of_each_other() {
    let script = "# no command\nA=$(b -c \"$D e\" | f 'g h' \\\n  -i) j\ncat > k <<'END'\nl m\nEND\n\
                  n \"$(o 'p)' q)\" && r; s() { t \"$@\"; }\n";
    let found: Vec<String> = commands(script).iter().map(|it| it.join("_")).collect();
    assert_eq!(
        found,
        ["b_-c_$D e", "f_g h_-i", "j", "cat_>_k_<<END", "o_p)_q", "n_$()", "r", "s", "t_$@", "}"]
    );
}
