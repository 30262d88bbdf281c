//! The same words mean the same with a server and without.

use posture::clock::Time;

use super::{NOBODY, now_s, some_checks};
use crate::harness::process::Folder;

/// Commands run one after the other, and all that they said, with names in place of what chance and
/// the clock decide.
struct Story {
    folder: Folder,
    /// Value and name; a name starts with `$`.
    names: Vec<(String, &'static str)>,
    told: Vec<String>,
}

impl Story {
    /// Runs a line of words; `$name` stands for a value. What it printed, as it is.
    fn tell(&mut self, line: &str) -> String {
        let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        for (value, name) in &self.names {
            words.iter_mut().filter(|it| *it == name).for_each(|it| it.clone_from(value));
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let done = self.folder.run(&words);
        let said = format!("{}|{}|{}", done.code, done.out, done.err);
        self.told.push(format!("{line}\n{}", self.masked(&said)));
        done.out
    }

    fn name(&mut self, name: &'static str, value: &str) {
        assert!(!value.is_empty(), "{name} has no value; {:?}", self.told.last());
        self.names.insert(0, (value.to_owned(), name));
    }

    /// Names that chance and the clock decide are replaced; lengths stay what they were.
    fn masked(&self, text: &str) -> String {
        let is_part = |it: char| it.is_ascii_alphanumeric() || "-_:.".contains(it);
        let mut masked = String::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let n_part = rest.find(|it| !is_part(it)).unwrap_or(rest.len());
            let (word, behind) = rest.split_at(n_part.max(first.len_utf8()));
            let named = self.names.iter().find(|(value, _)| value == word);
            masked += match named {
                Some((_, name)) => name,
                None if word.parse::<Time>().is_ok() => "TIME",
                None if word.len() == 36 && word.matches('-').count() == 4 => "ID",
                None if word.len() == 64 && word.chars().all(|it| it.is_ascii_hexdigit()) => {
                    "DIGEST"
                }
                None => word,
            };
            rest = behind;
        }
        masked
    }

    fn clients(&mut self) {
        self.tell("client list");
        let line =
            "client add --name Acme --industry Retail --employees 12 --profile aws=used --json";
        let id = self.tell(line);
        let id: serde_json::Value = serde_json::from_str(&id).unwrap();
        self.name("$client", id["data"]["id"].as_str().unwrap());
        for line in [
            "client list",
            "client list --json",
            "client show $client",
            "client show $client --json",
            "client set $client --name Beta --employees 20 --setting staleAssetDays=14",
            "client set $client --active false --profile gcp=unused --json",
            "client set $client --active true --industry ",
            "client set $client",
            "client set $client --setting scoreThresholds=1",
            "client add --name ",
            "client show $nobody",
            "client remove $client",
        ] {
            self.tell(line);
        }
    }

    fn keys(&mut self) {
        let line = "key issue --name k --scope read:clients,read:assets --client $client \
                    --ip 10.0.0.0/8 --per-minute 5 --expires-in 90d --source rmm --json";
        let issued: serde_json::Value = serde_json::from_str(&self.tell(line)).unwrap();
        let data = &issued["data"];
        self.name("$key", data["id"].as_str().unwrap());
        self.name("$text", data["key"].as_str().unwrap());
        self.name("$prefix", data["prefix"].as_str().unwrap());
        // What was printed before it had names.
        self.told.pop();
        self.tell("key list");
        self.tell("key list --json");
        for line in [
            "key issue --name k --scope everything",
            "key issue --name k --scope read:clients --client $nobody",
            "key issue --name k --scope read:clients --ip 10.0.0.0/99",
            "key issue --name k --scope read:clients --per-minute 0",
            "key revoke $nobody",
            "key revoke $key",
            "key revoke $key --json",
            "key rotate $key",
            "key list",
        ] {
            self.tell(line);
        }
    }

    fn imports(&mut self) {
        let line = "import --client $client some.json --json";
        let made: serde_json::Value = serde_json::from_str(&self.tell(line)).unwrap();
        self.name("$import", made["data"]["import"]["id"].as_str().unwrap());
        for line in [
            "import --client $client some.json",
            "import --client $client --again --observed-at 2001-01-01T00:00:00Z some.json",
            "import --client $client --again --complete --source other some.json",
            "import --client $client absent.json",
            "import --client $client garbage",
            "import --client $client torn.json",
            "import --client $client empty",
            "import --client $client .",
            "import --client $client --format nmap some.json",
            "import --client $client --format word some.json",
            "import --client $client --observed-at soon some.json",
            "import --client $nobody some.json",
            "import list --client $client",
            "import list --client $nobody",
            "import undo --client $client $import",
            "import undo --client $client $import",
            "import undo --client $client $nobody",
            "import list --client $client --json",
        ] {
            self.tell(line);
        }
    }

    fn whole(folder: Folder) -> Vec<String> {
        let file = some_checks(now_s());
        folder.write("some.json", &file);
        folder.write("torn.json", &file[..file.len() / 2]);
        folder.write("garbage", &[0xfe; 3_000]);
        folder.write("empty", b"");
        let mut story = Self { folder, names: Vec::new(), told: Vec::new() };
        story.name("$nobody", NOBODY);
        story.clients();
        story.keys();
        story.imports();
        for line in [
            "catalog list",
            "catalog list --json",
            "catalog show SOC2",
            "catalog show CC6.1 --json",
            "catalog show NOPE",
            "catalog control ID-01",
            "catalog control NO-01",
            "config check",
            "config show",
            "batch attest GOV-14 --status compliant --client $client --note One --by Ada --try",
            "batch attest GOV-14 --status compliant --client $client --note One --by Ada",
            "batch decide SOC2 CC6.1 --out-of-scope --client $client --note One --by Ada --json",
            "batch accept GOV-14 --client $client --until 2030-01-01 --note One --by Ada",
            "batch accept NET-07 --client $client --note One --by Ada",
            "batch decide SOC2 CC6.1 --client $client --note One --by Ada",
            "batch attest NO-01 --status compliant --tag gold --note One --by Ada",
            "batch list --json",
            "batch show nothing",
            "batch undo nothing --note One",
            "client hold $client --note Litigation --until 2030-01-01",
            "client hold $client --note Litigation --until soon",
            "client remove $client --yes",
            "client set $client --setting retention={\"observationsDays\":30}",
            "client release $client --note Settled",
            "client release $client --note Settled --json",
            "client erasures",
            "client remove $client --yes",
            "client erasures",
            "client show $client",
            "client list",
        ] {
            story.tell(line);
        }
        story.told
    }
}

#[test]
fn every_command_says_the_same_with_a_server_and_without() {
    let alone = std::thread::spawn(|| Story::whole(Folder::new()));
    let folder = Folder::new();
    let server = folder.serve();
    let beside = Story::whole(folder);
    assert!(server.stop().success());
    let alone = alone.join().unwrap();
    for (alone, beside) in alone.iter().zip(&beside) {
        assert_eq!(alone, beside);
    }
    assert_eq!(alone.len(), beside.len());
    let n_refused = alone.iter().filter(|it| it.contains("\n1|")).count();
    assert_eq!(n_refused, 35, "refusals of {}", alone.len());
}
