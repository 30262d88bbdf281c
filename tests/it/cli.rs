//! The executable, as a person or a script runs it: what it prints, how it ends, what it leaves.

mod client_name;
mod decision;
mod demo;
mod document;
mod export;
mod framework;
mod help;
mod input;
mod report;
mod result;
mod serve;
mod story;
mod user;

use posture::clock::Clock;
use serde_json::{Value, json};

use super::harness::http::send_socket;
use super::harness::process::{Done, Folder, binary, finish, prowler_file};
use super::harness::snapshot;

/// A client id that nobody has.
const NOBODY: &str = "01a1fadf-0000-7000-8000-000000000000";

/// A refusal is one line that starts with the program's name, on standard error alone.
fn refusal(done: &Done) -> &str {
    assert_eq!((done.code, &*done.out), (1, ""), "{}", done.err);
    let line = done.err.strip_suffix('\n').expect("a whole line");
    assert!(!line.contains('\n'), "more than a line: {line}");
    line.strip_prefix("posture: ").expect("the program's name comes first")
}

/// How a command ends whose standard output and standard error are a terminal with so many columns.
fn on_terminal(folder: &Folder, n_columns: u32, args: &[&str]) -> Done {
    let spawn = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)";
    let sized = format!("stty cols {n_columns}; exec \"$0\" \"$@\"");
    let mut command = std::process::Command::new("python3");
    command.current_dir(folder.path()).env_remove("POSTURE_CONFIG");
    command.args(["-c", spawn, "sh", "-c", &sized]).arg(binary()).args(args);
    let mut done = finish(&mut command);
    done.out = done.out.replace("\r\n", "\n");
    done
}

fn now_s() -> i64 {
    Clock::System.now().micros() / 1_000_000
}

/// Checks that the catalogue knows: two that passed and one that failed.
fn some_checks(at_s: i64) -> Vec<u8> {
    let checks = [
        ("iam_root_mfa_enabled", true),
        ("s3_bucket_public_access", false),
        ("s3_bucket_level_public_access_block", true),
    ];
    prowler_file(at_s, &checks)
}

#[test]
fn json_is_the_api_s_own_answer() {
    let folder = Folder::new();
    let _server = folder.serve();
    let client = folder.client("Acme");
    folder.write("some.json", &some_checks(now_s()));
    folder.ok(&["import", "--client", &client, "some.json"]);
    folder.key("1000");
    let of_client = format!("/api/clients/{client}");
    for (args, path) in [
        (vec!["client", "show", &client], of_client.clone()),
        (vec!["key", "list"], "/api/keys".to_owned()),
    ] {
        assert_eq!(folder.json(&args), folder.ask(&path), "{args:?}");
    }
    let imports = folder.json(&["import", "list", "--client", &client]);
    assert_eq!(imports["data"], folder.ask(&format!("{of_client}/imports?limit=100"))["data"]);
    assert_eq!(folder.json(&["client", "list"])["data"], folder.ask("/api/clients")["data"]);
    let status = folder.json(&["status"]);
    assert_eq!(status["data"]["clientsActive"], 1);
    assert_eq!(status.as_object().unwrap().len(), 1, "data alone");
    let made = folder.json(&["client", "add", "--name", "Beta"]);
    assert_eq!(made["data"]["name"], "Beta");
    let id = made["data"]["id"].as_str().unwrap();
    assert!(folder.json(&["client", "remove", id, "--yes"])["data"]["finishedAt"].is_string());
    let issued = folder.json(&["key", "issue", "--name", "k", "--scope", "read:clients"]);
    assert!(issued["data"]["key"].as_str().unwrap().starts_with("service_"));
    let id = issued["data"]["id"].as_str().unwrap();
    assert!(folder.json(&["key", "rotate", id])["data"]["previousUntil"].is_string());
    assert_eq!(folder.json(&["key", "revoke", id]), json!({ "data": null }));
}

#[test]
fn client_list_has_all_clients_beyond_a_page() {
    let folder = Folder::new();
    let server = folder.serve();
    for index in 0..205 {
        let body = json!({ "name": format!("client {index:03}") }).to_string();
        let headers = [("Content-Type", "application/json")];
        let socket = folder.socket();
        let answer = send_socket(&socket, "POST", "/api/clients", &headers, body.as_bytes());
        assert_eq!(answer.status, 201);
    }
    let check = || {
        let out = folder.ok(&["client", "list"]);
        assert_eq!(out.lines().count(), 206, "a heading and all");
        assert!(out.lines().last().unwrap().contains("client 204"));
        let all = folder.json(&["client", "list"]);
        assert_eq!(all["data"].as_array().unwrap().len(), 205);
    };
    check();
    assert!(server.stop().success());
    check();
}

#[test]
fn quiet_prints_the_key_alone_and_it_works() {
    let folder = Folder::new();
    let server = folder.serve();
    let scope = ["--scope", "read:clients"];
    let out = folder.ok(&[&["key", "issue", "--name", "k", "--quiet"], &scope[..]].concat());
    let key = out.strip_suffix('\n').unwrap();
    assert!(key.starts_with("service_") && key.chars().all(|it| !it.is_whitespace()), "{key}");
    assert_eq!(server.get(key, "/clients").status, 200);
    let id = folder.json(&["key", "list"])["data"][0]["id"].as_str().unwrap().to_owned();
    let out = folder.ok(&["key", "rotate", &id, "--grace", "0", "-q"]);
    let new = out.strip_suffix('\n').unwrap();
    assert_eq!(server.get(new, "/clients").status, 200);
    assert_eq!(server.get(key, "/clients").status, 401);
    folder.ok(&["key", "revoke", &id]);
    assert_eq!(server.get(new, "/clients").status, 401);
}

#[test]
fn a_refusal_is_one_line_and_code_1_and_words_that_mean_nothing_are_code_2() {
    let folder = Folder::new();
    let server = folder.serve();
    let check = || {
        for (args, says) in [
            (&["client", "show", "nonsense"][..], "no client is named `nonsense`"),
            (&["client", "show", NOBODY], "client not found"),
            (&["client", "set", NOBODY], "nothing to change"),
            (&["client", "set", NOBODY, "--setting", "x=y"], "`y` is not JSON"),
            (&["client", "add", "--name", " "], "name: must be 1 to 500 characters"),
            (&["client", "remove", NOBODY], "--yes"),
            (&["key", "revoke", NOBODY], "key not found"),
            (&["key", "rotate", NOBODY, "--grace", "1y"], "`1y` is not a duration"),
            (&["key", "issue", "--name", "k", "--scope", "read:all"], "scopes"),
            (&["import", "undo", "--client", NOBODY, "1"], "`1` is not an import id"),
            (&["--config", "absent.toml", "status"], "cannot read absent.toml"),
        ] {
            let done = folder.run(args);
            assert!(refusal(&done).contains(says), "{args:?}: {}", done.err);
        }
        for args in [
            &[][..],
            &["bogus"],
            &["client", "add"],
            &["client", "add", "--name", "x", "--employees", "many"],
            &["import", "--client", NOBODY],
            &["key", "issue", "--name", "k"],
            &["completions", "cmd"],
            &["serve", "--listen", "nowhere"],
        ] {
            let done = folder.run(args);
            assert_eq!((done.code, &*done.out), (2, ""), "{args:?}");
            assert!(done.err.contains("Usage:") || done.err.contains("--help"), "{args:?}");
        }
    };
    check();
    assert!(server.stop().success());
    check();
    for args in [&["--version"][..], &["--help"], &["help", "import"]] {
        assert_eq!(folder.run(args).code, 0, "{args:?}");
    }
}

/// What `--help` says of a command and of all below it.
fn help(folder: &Folder, command: &[&str]) -> String {
    let Done { code, out, err } = folder.run(&[command, &["--help"]].concat());
    assert_eq!((code, &*err), (0, ""), "{command:?}");
    let commands = out.split_once("\nCommands:\n").map_or("", |it| it.1);
    let names = commands.lines().take_while(|it| !it.is_empty()).filter_map(|line| {
        // What a command is about begins further to the right.
        let name = line.strip_prefix("  ")?.split(' ').next()?;
        (!name.is_empty() && name != "help").then_some(name)
    });
    let below: String = names.map(|it| help(folder, &[command, &[it]].concat())).collect();
    format!("$ {}\n{out}\n{below}", [&["posture"], command, &["--help"]].concat().join(" "))
}

#[test]
fn the_help_is_as_it_was() {
    snapshot::assert_text("help", &help(&Folder::new(), &[]));
}

#[test]
fn foreign_text_does_not_command_the_terminal() {
    let folder = Folder::new();
    let added = folder.json(&["client", "add", "--name", "Evil"]);
    let id = added["data"]["id"].as_str().unwrap();
    let note = "note=\"Evil\\r\u{200b}31m\u{202e}cod\"";
    folder.ok(&["client", "set", id, "--setting", note]);
    let file = "\u{1b}[2J.json";
    folder.write(file, b"garbage");
    let odd = ["client", "show", "\u{1b}[2J\nposture: all is well"];
    let hostile =
        |it: char| (it.is_control() && it != '\n') || matches!(it, '\u{202e}' | '\u{200b}');
    for args in [
        &["client", "list"][..],
        &["client", "list", "--json"],
        &["client", "show", id],
        &["client", "show", id, "--json"],
        &odd,
        &["import", "--client", id, file],
    ] {
        let Done { out, err, .. } = folder.run(args);
        assert!(!out.contains(hostile) && !err.contains(hostile), "{args:?}");
        assert!(!(out + &err).is_empty());
    }
    let shown = folder.run(&["client", "show", id]).out;
    assert!(shown.contains(r"Evil\r\u{200b}31m\u{202e}cod"), "{shown}");
    refusal(&folder.run(&odd));
    let kept = folder.json(&["client", "show", id])["data"]["settings"]["note"].clone();
    assert_eq!(kept, "Evil\r\u{200b}31m\u{202e}cod", "JSON escapes it");
}

#[test]
fn the_configuration_named_last_holds() {
    let folder = Folder::new();
    for (file, dir) in [("named.toml", "by-variable"), ("given.toml", "by-option")] {
        folder.write(file, format!("[data]\ndir = \"{dir}\"\n").as_bytes());
    }
    let with = |args: &[&str], named: &str| {
        let done = finish(folder.command(args).env("POSTURE_CONFIG", named));
        assert_eq!((done.code, &*done.err), (0, ""));
    };
    let made = |dir: &str| folder.path().join(dir).join("posture.redb").exists();
    with(&["client", "list", "--config", "given.toml"], "named.toml");
    assert!(made("by-option") && !made("by-variable") && !made("data"));
    with(&["client", "list"], "named.toml");
    assert!(made("by-variable") && !made("data"));
    with(&["client", "list"], "");
    assert!(made("data"), "an empty variable names nothing");
    with(&["init", "--json"], "new.toml");
    assert!(folder.path().join("new.toml").exists(), "init writes what the others will read");
}

#[test]
fn a_command_in_a_folder_of_nobody_s_makes_no_installation_there() {
    let folder = Folder::new();
    std::fs::remove_file(folder.path().join("posture.toml")).unwrap();
    let said = folder.run(&["client", "list"]);
    assert!(refusal(&said).contains("no posture.toml and no ./data here"), "{said:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    folder.ok(&["init"]);
    folder.ok(&["client", "list"]);
}

#[test]
fn init_writes_a_configuration_that_is_in_order_and_overwrites_nothing() {
    let folder = Folder::new();
    std::fs::remove_file(folder.path().join("posture.toml")).unwrap();
    let out = folder.ok(&["init"]);
    assert!(out.contains("wrote posture.toml"), "{out}");
    let (_, behind) = out.split_once("administrator is `admin` with password `").unwrap();
    let (password, _) = behind.split_once('`').unwrap();
    let shown = folder.json(&["user", "list"]);
    assert_eq!(shown["data"][0]["username"], "admin");
    assert_eq!(shown["data"][0]["role"], "admin");
    assert_eq!(shown["data"][0]["mustChangePassword"], true);
    assert!(!shown.to_string().contains(password));
    assert_eq!(folder.ok(&["config", "check"]), "the configuration is valid\n");
    let written = std::fs::read_to_string(folder.path().join("posture.toml")).unwrap();
    let line =
        |text: &str| text.lines().position(|it| it.starts_with("allowed_networks = ")).unwrap();
    let but_networks = |text: &str| -> Vec<String> {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.remove(line(text));
        lines
    };
    let data = folder.path().canonicalize().unwrap().join("data");
    let example = posture::config::EXAMPLE;
    let example = example.replace("dir = \"./data\"", &format!("dir = \"{}\"", data.display()));
    assert_eq!(but_networks(&written), but_networks(&example), "with an absolute data.dir");
    let elsewhere = finish(
        folder
            .command(&["user", "list"])
            .current_dir("/")
            .args(["--config", folder.path().join("posture.toml").to_str().unwrap()]),
    );
    assert!(elsewhere.out.contains("admin"), "{elsewhere:?}");
    let mode = |name: &str| {
        use std::os::unix::fs::PermissionsExt;
        folder.path().join(name).metadata().unwrap().permissions().mode() & 0o777
    };
    assert_eq!(mode("data"), 0o700);
    assert_eq!(mode("posture.toml") & 0o007, 0, "nothing for others");
    let again = folder.ok(&["init"]);
    assert!(
        again.contains("kept posture.toml") && again.contains("no administrator was added"),
        "{again}"
    );
    folder.ok(&["init", "--config", "other.toml"]);
    assert!(folder.path().join("other.toml").exists());
    assert!(refusal(&folder.run(&["init", "--config", "no/such/x.toml"])).contains("cannot write"));
}

#[test]
fn init_completes_an_installation_whose_configuration_exists() {
    let folder = Folder::new();
    let before = std::fs::read(folder.path().join("posture.toml")).unwrap();
    let said = folder.json(&["init"]);
    assert_eq!(std::fs::read(folder.path().join("posture.toml")).unwrap(), before, "as it was");
    assert_eq!(
        (&said["data"]["written"], &said["data"]["dataDir"]),
        (&json!(false), &json!("data"))
    );
    assert_eq!(said["data"]["admin"]["username"], "admin");
    let password = said["data"]["admin"]["password"].as_str().unwrap();
    for file in ["posture.redb", "posture.key"] {
        assert!(folder.path().join("data").join(file).exists(), "{file}");
    }
    let server = folder.serve();
    let body = json!({ "username_or_email": "admin", "password": password }).to_string();
    let headers = [("Content-Type", "application/json")];
    let answer =
        crate::harness::send(server.address, "POST", "/auth/login", &headers, body.as_bytes());
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(folder.json(&["init"])["data"]["admin"], Value::Null, "also while it runs");
    folder.write("wrong.toml", b"[data]\ndri = \"x\"\n");
    let wrong = folder.run(&["init", "--config", "wrong.toml"]);
    assert!(refusal(&wrong).contains("did you mean \"data.dir\"?"), "{}", wrong.err);
}

#[test]
fn config_check_reads_the_files_that_settings_name() {
    let folder = Folder::new();
    let text = "[server]\nmetrics_token_file = \"token\"\ntls_cert = \"c.pem\"\ntls_key = \"k.pem\"\n[backup]\ndir = \"backups\"\n\
                [import]\nwatch = \"inbox\"\n";
    folder.write("posture.toml", text.as_bytes());
    let done = folder.run(&["config", "check"]);
    let missing = "No such file or directory (os error 2)";
    let said = format!(
        "server.tls_cert: cannot read c.pem: {missing}\nserver.metrics_token_file: token cannot be read: {missing}\n\
         import.watch: inbox is not a folder; create it\nbackup.dir: backups is not a folder; create it\n"
    );
    assert_eq!((done.code, done.out, done.err.as_str()), (1, said, "posture: 4 problems\n"));
    folder.write("posture.toml", b"[webhooks]\nca_file = \"ca.pem\"\n");
    let done = folder.run(&["config", "check", "--json"]);
    assert!(done.code == 1 && done.out.contains("webhooks.ca_file"), "{}", done.out);
}

#[test]
fn config_check_names_file_and_line_of_every_problem() {
    let folder = Folder::new();
    let text = "[server]\nlisten = \"nowhere\"\n\n[limits]\nper_minut = 60\n\"a\\u001b\" = 1\n";
    folder.write("bad.toml", text.as_bytes());
    let done = folder.run(&["config", "check", "--config", "bad.toml"]);
    assert_eq!((done.code, &*done.err), (1, "posture: 3 problems\n"));
    assert_eq!(done.out.lines().count(), 3, "{}", done.out);
    for place in ["bad.toml:2: ", "bad.toml:5: ", "bad.toml:6: "] {
        assert!(done.out.lines().any(|it| it.starts_with(place)), "{place}: {}", done.out);
    }
    assert!(done.out.contains("per_minute"), "the nearest known name: {}", done.out);
    assert!(!done.out.contains('\u{1b}'));
    let line = folder.run(&["status", "--config", "bad.toml"]);
    assert!(refusal(&line).starts_with("bad.toml:2: "), "{}", line.err);
    assert!(refusal(&line).contains("2 more"), "{}", line.err);
    let done = folder.run(&["config", "check", "--json", "--config", "bad.toml"]);
    let said: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!((done.code, said["data"]["problems"].as_array().unwrap().len()), (1, 3));
    folder.write("torn.toml", b"[server\nlisten = ");
    let done = folder.run(&["config", "check", "--config", "torn.toml"]);
    assert_eq!(done.code, 1);
    assert!(done.out.starts_with("torn.toml:1: "), "{}", done.out);
}

#[test]
fn completions_fit_their_shell() {
    let folder = Folder::new();
    let script = folder.ok(&["completions", "bash"]);
    folder.write("posture.bash", script.as_bytes());
    let test = "source ./posture.bash && COMP_WORDS=(posture im) COMP_CWORD=1 && \
                _posture posture im posture && echo \"${COMPREPLY[@]}\"";
    let mut bash = std::process::Command::new("bash");
    let done = finish(bash.current_dir(folder.path()).args(["-c", test]));
    assert_eq!((&*done.out, &*done.err), ("import\n", ""));
    assert!(folder.ok(&["completions", "zsh"]).starts_with("#compdef posture\n"));
    assert!(folder.ok(&["completions", "fish"]).contains("complete -c posture "));
    // A reader that goes away early is no failure.
    let mut shell = std::process::Command::new("bash");
    let pipe = "set -o pipefail; \"$0\" completions bash | head -1 > /dev/null";
    let binary = super::harness::process::binary();
    let done = finish(shell.args(["-c", pipe]).arg(binary));
    assert_eq!((done.code, &*done.err), (0, ""));
}

#[test]
fn openapi_prints_the_document_that_the_server_serves() {
    let folder = Folder::new();
    let document: Value = serde_json::from_str(&folder.ok(&["openapi"])).unwrap();
    assert!(document["openapi"].as_str().unwrap().starts_with("3."));
    assert_eq!(document["info"]["version"], "1.0.0");
    assert!(!folder.path().join("data").exists(), "it needs no database");
    let server = folder.serve();
    let answered = super::harness::send(server.address, "GET", "/openapi.json", &[], b"").json();
    assert!(answered == document, "the served document is another");
}
