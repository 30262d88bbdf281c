//! Configuration: what a file may say, what holds without one, and what is said about a wrong one.

mod certificate;
mod mail;
mod oidc;
mod public_url;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use posture::app::client::loss::LossModel;
use posture::config::{
    Config, EXAMPLE, FILE_BYTES_MAX, LogFormat, LogLevel, check, load, locate, parse, show,
};
use posture::mail::MailTls;
use posture::store::global::user::Role;

fn read(text: &str) -> Config {
    parse("posture.toml", text).unwrap_or_else(|problems| panic!("{problems:#?}"))
}

/// Each as `line: message`.
fn problems(text: &str) -> Vec<String> {
    let problems = parse("posture.toml", text).err().unwrap_or_default();
    problems.iter().map(|it| format!("{}: {}", it.line.unwrap(), it.message)).collect()
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    assert_eq!(problems(text), [expected], "{text}");
}

#[test]
fn the_example_is_the_defaults() {
    assert_eq!(parse("posture.toml.example", EXAMPLE).unwrap(), Config::default());
    assert_eq!(read(""), Config::default());
}

#[test]
fn the_defaults_are_those_of_the_manual() {
    let it = Config::default();
    assert_eq!(it.server.listen, "127.0.0.1:8080".parse().unwrap());
    assert_eq!((it.server.public_url, it.server.trusted_proxies), (None, vec![]));
    assert_eq!((it.server.certificate, it.server.http_listen), (None, None));
    assert_eq!(it.server.connections_per_address, 128);
    assert_eq!((it.data.dir, it.data.cache_mib), (PathBuf::from("./data"), 32));
    assert_eq!((it.msp.id, it.data.key_file, it.import_watch), (None, None, None));
    assert_eq!(it.auth.require_mfa, []);
    assert_eq!((it.limits.per_minute, it.limits.per_hour, it.limits.per_day), (60, 1000, 10000));
    assert!(it.scan.allow_attached);
    assert_eq!((it.scan.allowed_networks, it.scan.excluded_networks), (vec![], vec![]));
    assert_eq!((it.scan.packets_per_s, it.scan.per_host_connections), (500, 8));
    assert_eq!((it.scan.concurrent, it.webhooks.timeout_s), (2, 15));
    let gaps_s = [0, 5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400];
    assert_eq!(it.webhooks.retry_gaps_s, gaps_s);
    assert_eq!(gaps_s.iter().sum::<u32>(), 75 * 3600 + 35 * 60 + 5);
    assert_eq!(it.webhooks.allow_http_networks, []);
    assert_eq!(it.webhooks.allow_private_networks, []);
    assert_eq!(it.webhooks.retention_days, 30);
    assert_eq!((it.assessment.stale_asset_days, it.assessment.new_member_days), (30, 7));
    assert_eq!((it.assessment.dormant_after_days, it.assessment.evidence_warning_days), (90, 30));
    let retention = it.retention;
    let days = (retention.statements, retention.observations, retention.events);
    assert_eq!(days, (2_557, 730, 90));
    let (assessment, loss) = (it.assessment, LossModel::default());
    let costs = (assessment.record_cost, assessment.downtime_cost_per_hour);
    assert_eq!((costs, assessment.downtime_hours), ((160, 5_000), 72));
    assert_eq!(costs, (loss.record_cost, loss.downtime_cost_per_hour));
    assert_eq!(assessment.downtime_hours, loss.downtime_hours);
    for (read, built_in) in [
        (assessment.incidents_per_1000, loss.incidents_per_1000),
        (assessment.records_per_employee, loss.records_per_employee),
    ] {
        assert_eq!((read.default, read.named), (built_in.default, built_in.named));
    }
    assert_eq!((it.log.level, it.log.format), (LogLevel::Info, LogFormat::Text));
    assert_eq!(it.file, None);
}

/// The example with its samples in force.
fn example_with_samples() -> String {
    EXAMPLE.replace("\n#", "\n").lines().filter(|it| !it.starts_with(' ')).fold(
        String::new(),
        |text, line| {
            // A line of prose has a space behind its `#`.
            text + line + "\n"
        },
    )
}

#[test]
fn the_example_has_every_key_and_its_samples_keep_the_rules() {
    let sample = example_with_samples()
        .replace("engine = \"redb\"", "engine = \"postgres\"")
        .replace("trusted_proxies = []", "trusted_proxies = [\"127.0.0.1\"]");
    // A certificate is from files or from an authority.
    for without in [["tls_cert", "tls_key"].as_slice(), &["acme_domains"]] {
        let lines = sample.lines().filter(|line| !without.iter().any(|it| line.starts_with(it)));
        let shown = show(&read(&lines.map(|it| it.to_owned() + "\n").collect::<String>()));
        assert_eq!(shown.matches("is not set").count(), without.len(), "{shown}");
    }
    let options = read(&sample.replace("\nacme_domains", "\n#acme_domains"));
    assert_eq!(options.server.public_url.as_deref(), Some("https://posture.example.com"));
    for line in show(&Config::default()).lines().filter(|it| !it.is_empty()) {
        let key = line.trim_start_matches("# ").split(' ').next().unwrap();
        let (set, sample) = (format!("\n{key} = "), format!("\n#{key} = "));
        let is_key = line.contains(" = ") || line.contains("is not set");
        assert!(!is_key || EXAMPLE.contains(&set) || EXAMPLE.contains(&sample), "{line}");
    }
}

#[test]
fn every_key_is_taken_from_the_file() {
    let options = read(
        "[server]\nlisten = \"[::1]:9000\"\npublic_url = \"http://posture.lan:8080/\"\n\
         trusted_proxies = [\"10.0.0.5\", \"fd00::/8\"]\n\
         proxy_idle_timeout_s = 600\nconnections_per_address = 8\nlisten_socket_mode = \"666\"\nacme_directory = \"https://ca.lan/dir\"\n\
         [data]\ndir = \"d\"\ncache_mib = 0x10\n\
         [database]\nengine = \"postgres\"\nurl_file = \"u\"\nca_file = \"d.pem\"\n[msp]\nid = \"Ä-1\"\nname = \"Ä GmbH\"\n\
         logo = \"l.png\"\nlanguage = \"fr\"\ntime_zone = \"europe/Paris\"\n\
         [mail]\nserver = \"[::1]:25\"\ntls = \"none\"\nfrom = \"Ä <a@b.example>\"\nuser = \"u\"\n\
         login = \"microsoft_app\"\nca_file = \"m.pem\"\ngreeting_name = \"Mail.B.example\"\n\
         [auth]\nrequire_mfa = [\"admin\", \"viewer\"]\n\
         [oidc]\nname = \"Ä ID\"\nscopes = [\"openid\"]\nroles_claim = \"groups\"\nadmin_values = [\"1\"]\n\
         analyst_values = [\"2\"]\nviewer_values = []\nsecond_factor = \"provider\"\namr_values = [\"otp\"]\n\
         acr_values = [\"phr\"]\n\
         [limits]\nper_minute = 1\nper_hour = 1\nper_day = 100_000_000\n\
         [scan]\nallowed_networks = [\"10.1.0.0/16\"]\nexcluded_networks = [\"10.1.9.0/24\"]\n\
         packets_per_s = 1\nper_host_connections = 1\nconcurrent = 1\n\
         [webhooks]\ntimeout_s = 1\nretry_gaps_s = [0, 0]\nallow_http_networks = [\"10.0.0.0/8\"]\n\
         allow_private_networks = [\"10.0.0.0/8\"]\nretention_days = 1\n\
         [assessment]\nstale_asset_days = 2\nnew_member_days = 0\ndormant_after_days = 3\n\
         evidence_warning_days = 4\nrecord_cost = 0\ndowntime_cost_per_hour = 1_000_000_000\n\
         downtime_hours = 8_760\nincidents_per_1000 = { default = 1_000 }\n\
         [assessment.records_per_employee]\nDefault = 0\n\"Dental Care\" = 1_000_000\n\
         [retention]\nstatements_days = 0\nobservations_days = 30\nevents_days = 3_650\n\
         [import]\nwatch = \"inbox\"\n[backup]\nevery_h = 744\nkeep = 1_000\nafter_command = [\"cp\", \"{file}\", \"/mnt\"]\n\
         recipients = [\"age1t7rxyev2z3rw82stdlrrepyc39nvn86l5078zqkf5uasdy86jp6svpy7pa\"]\n\
         [connect]\ndns_server = \"127.0.0.1:5353\"\nallow_http_networks = [\"10.0.0.0/8\"]\n\
         allow_private_networks = [\"10.0.0.0/8\"]\nca_file = \"ca.pem\"\n\
         endpoints = { \"https://a.example\" = \"https://b.example\" }\n\
         [log]\nlevel = \"trace\"\nformat = \"json\"\n",
    );
    assert_eq!(options.connect.dns_server, Some("127.0.0.1:5353".parse().unwrap()));
    assert_eq!(options.server.listen, "[::1]:9000".parse().unwrap());
    assert_eq!(options.server.public_url.as_deref(), Some("http://posture.lan:8080"));
    assert_eq!(options.server.proxy_idle_timeout_s, 600);
    let proxies = ["10.0.0.5/32", "fd00::/8"].map(|it| it.parse().unwrap());
    assert_eq!(options.server.trusted_proxies, proxies);
    assert_eq!(options.server.connections_per_address, 8);
    assert_eq!((options.data.dir.as_path(), options.data.cache_mib), (Path::new("d"), 16));
    let msp = &options.msp;
    assert_eq!((msp.id.as_deref(), msp.time_zone.name()), (Some("Ä-1"), "Europe/Paris"));
    assert_eq!((&msp.name, &msp.logo), (&Some("Ä GmbH".to_owned()), &Some("l.png".into())));
    assert_eq!(msp.language, posture::paper::Language::French);
    assert_eq!(options.auth.require_mfa, [Role::Admin, Role::Viewer]);
    assert!(!options.scan.allow_attached && options.webhooks.retry_gaps_s == [0, 0]);
    assert_eq!(options.scan.allowed_networks, ["10.1.0.0/16".parse().unwrap()]);
    let kept = &options.retention;
    assert_eq!((kept.statements, kept.observations, kept.events), (0, 30, 3_650));
    let loss = &options.assessment;
    assert_eq!((loss.downtime_cost_per_hour, loss.downtime_hours), (1_000_000_000, 8_760));
    assert_eq!(options.assessment.incidents_per_1000.default, 1_000);
    let records = &options.assessment.records_per_employee;
    assert_eq!((records.default, records.named["dental care"]), (0, 1_000_000));
    assert_eq!((options.log.level, options.log.format), (LogLevel::Trace, LogFormat::Json));
    let shown = show(&options);
    let is_left = |it: &&str| it.contains(" = ") && !it.contains("  # posture.toml:");
    assert_eq!(shown.lines().find(is_left), None, "a default is left");
    let n_keys = shown.lines().filter(|it| it.contains(" = ")).count();
    assert_eq!(options.backup.after_command, ["cp", "{file}", "/mnt"]);
    assert_eq!(options.backup.recipients.len(), 1);
    assert_eq!(options.import_watch.as_deref(), Some(Path::new("inbox")));
    assert_eq!((n_keys, options.backup.every_h, options.backup.keep), (71, 744, 1_000));
    let mail = options.mail.unwrap();
    assert_eq!((&*mail.host, mail.port, mail.tls), ("::1", 25, MailTls::None));
    assert_eq!((mail.from.name.as_deref(), mail.from.email.as_ref()), (Some("Ä"), "a@b.example"));
    assert_eq!(mail.greeting_name, "mail.b.example");
    assert!(shown.contains("records_per_employee = { Default = 0, \"Dental Care\" = 1000000 }"));
    let keys = shown.lines().skip(1).filter(|it| !it.starts_with('#'));
    let again = read(&keys.map(|it| it.to_owned() + "\n").collect::<String>());
    assert_eq!(again.assessment, options.assessment);
}

#[test]
fn numbers_by_industry_have_a_default_and_each_industry_once() {
    let key = "assessment.incidents_per_1000";
    let refused = |table: &str, rule: &str| {
        refused(&format!("[assessment]\nincidents_per_1000 = {table}\n"), &format!("2: {rule}"));
    };
    refused("5", &format!("{key}: must be a table, not an integer"));
    refused("{ legal = 5 }", &format!("{key}: must have \"default\", for all other industries"));
    let twice = format!("{key}: \"legal\" is there twice, apart from upper and lower case");
    refused("{ default = 5, Legal = 5, legal = 6 }", &twice);
    let range = format!("{key}: \"legal\" must be 0 to 1000, not 1001");
    refused("{ default = 5, legal = 1001 }", &range);
    let type_of = format!("{key}: \"default\" must be an integer, not a string");
    refused("{ default = \"5\" }", &type_of);
    let many = (0..101).map(|it| format!("i{it} = 1")).collect::<Vec<_>>().join(", ");
    refused(&format!("{{ {many} }}"), &format!("{key}: must have at most 100 keys, not 101"));
}

#[test]
fn an_unknown_key_is_refused_with_the_nearest_name() {
    let cases = [
        (
            "[server]\nlistn = \"x\"",
            "2: unknown key \"server.listn\"; did you mean \"server.listen\"?",
        ),
        ("[server]\ndir = \"x\"", "2: unknown key \"server.dir\"; did you mean \"data.dir\"?"),
        (
            "[webhooks]\ntimeout = 3",
            "2: unknown key \"webhooks.timeout\"; did you mean \"webhooks.timeout_s\"?",
        ),
        ("[webhooks]\nelephant = 3", "2: unknown key \"webhooks.elephant\""),
        (
            "listen = 3",
            "1: unknown key \"listen\" outside of any section; did you mean \"server.listen\"?",
        ),
        (
            "\"server.listen\" = 3",
            "1: unknown key \"server.listen\" outside of any section; did you mean \"server.listen\"?",
        ),
        ("[sever]\nlisten = 3\nport = 4", "1: unknown section \"sever\"; did you mean \"server\"?"),
        ("[elephant]", "1: unknown section \"elephant\""),
        (
            "[assessment]\nmax_age_days = 35",
            "2: unknown key \"assessment.max_age_days\"; it never had an effect, so remove it",
        ),
        (
            "[import]\nwatched = \"w\"",
            "2: unknown key \"import.watched\"; did you mean \"import.watch\"?",
        ),
        ("[backup]\nevery_h = 0", "2: backup.every_h: must be 1 to 744, not 0"),
        ("server = 3", "1: server: must be a section, not an integer"),
        ("[[server]]\nlisten = 3", "1: server: must be a section, not an array"),
    ];
    for (text, expected) in cases {
        refused(text, expected);
    }
}

#[test]
fn a_second_factor_is_required_of_roles_that_there_are() {
    let rule = "must be one of \"viewer\", \"analyst\", \"admin\", not \"root\"";
    let text = "[auth]\nrequire_mfa = [\"admin\", \"root\"]\n";
    refused(text, &format!("2: auth.require_mfa: {rule}"));
}

#[test]
fn a_wrong_value_is_refused_with_its_rule() {
    let network = "is not a network in CIDR notation, such as \"10.0.0.0/8\"";
    let cases = [
        ("server", "listen = 8080", "must be a string, not an integer".to_owned()),
        (
            "server",
            "listen = \"localhost:80\"",
            "\"localhost:80\" is not an IP address with a port, such as \"127.0.0.1:8080\""
                .to_owned(),
        ),
        ("server", "proxy_idle_timeout_s = 9", "must be 10 to 600, not 9".to_owned()),
        ("server", "proxy_idle_timeout_s = 601", "must be 10 to 600, not 601".to_owned()),
        ("server", "trusted_proxies = \"10.0.0.0/8\"", "must be an array, not a string".to_owned()),
        ("server", "trusted_proxies = [\"10.0.0.0/33\"]", format!("\"10.0.0.0/33\" {network}")),
        ("server", "trusted_proxies = [\"attached\"]", format!("\"attached\" {network}")),
        (
            "server",
            "trusted_proxies = [\"10.0.0.1/8\"]",
            "\"10.0.0.1/8\" is an address in a network; did you mean \"10.0.0.0/8\"?".to_owned(),
        ),
        ("server", "trusted_proxies = [3]", "must be a string, not an integer".to_owned()),
        ("data", "dir = \"\"", "must not be empty".to_owned()),
        ("data", "dir = \"a\\u0000b\"", "must not contain control characters".to_owned()),
        ("import", "watch = 24", "must be a string, not an integer".to_owned()),
        ("data", "cache_mib = \"128\"", "must be an integer, not a string".to_owned()),
        ("data", "cache_mib = 128.0", "must be an integer, not a float".to_owned()),
        ("server", "connections_per_address = 7", "must be 8 to 4096, not 7".to_owned()),
        ("server", "connections_per_address = 4097", "must be 8 to 4096, not 4097".to_owned()),
        ("data", "cache_mib = 7", "must be 8 to 65536, not 7".to_owned()),
        ("data", "cache_mib = -1", "must be 8 to 65536, not -1".to_owned()),
        (
            "data",
            "cache_mib = 99999999999999999999",
            "must be 8 to 65536, not 99999999999999999999".to_owned(),
        ),
        ("msp", "id = \"\"", "must have 1 to 64 characters, not 0".to_owned()),
        ("msp", "id = \" x\"", "must be one line without leading or trailing spaces".to_owned()),
        ("limits", "per_minute = 0", "must be 1 to 100000000, not 0".to_owned()),
        ("scan", "allowed_networks = [\"home\"]", format!("\"home\" {network}")),
        ("scan", "packets_per_s = 0", "must be 1 to 1000000, not 0".to_owned()),
        ("scan", "per_host_connections = 257", "must be 1 to 256, not 257".to_owned()),
        ("scan", "concurrent = 17", "must be 1 to 16, not 17".to_owned()),
        ("webhooks", "timeout_s = 121", "must be 1 to 120, not 121".to_owned()),
        ("webhooks", "retry_gaps_s = []", "must have 1 to 20 items, not 0".to_owned()),
        ("webhooks", "retry_gaps_s = [0, 604_801]", "must be 0 to 604800, not 604801".to_owned()),
        ("assessment", "stale_asset_days = 3651", "must be 1 to 3650, not 3651".to_owned()),
        ("assessment", "new_member_days = 31", "must be 0 to 30, not 31".to_owned()),
        ("retention", "statements_days = 364", "must be 0, or 365 to 36500, not 364".to_owned()),
        ("retention", "observations_days = 29", "must be 0, or 30 to 36500, not 29".to_owned()),
        ("retention", "events_days = 0", "must be 7 to 3650, not 0".to_owned()),
        (
            "assessment",
            "record_cost = 1_000_000_001",
            "must be 0 to 1000000000, not 1000000001".to_owned(),
        ),
        ("msp", "id = true", "must be a string, not a boolean".to_owned()),
        (
            "log",
            "level = \"loud\"",
            "must be one of \"error\", \"warn\", \"info\", \"debug\", \"trace\", not \"loud\""
                .to_owned(),
        ),
        ("log", "format = \"xml\"", "must be one of \"text\", \"json\", not \"xml\"".to_owned()),
        ("log", "format = { a = 1 }", "must be a string, not a table".to_owned()),
    ];
    for (section, line, rule) in cases {
        let key = line.split(' ').next().unwrap();
        refused(&format!("[{section}]\n{line}\n"), &format!("2: {section}.{key}: {rule}"));
    }
}

#[test]
fn values_that_do_not_go_together_are_refused_with_their_keys() {
    let cases = [
        (
            "[limits]\nper_minute = 1001",
            "2: limits.per_hour: must not be less than limits.per_minute",
        ),
        ("[limits]\nper_hour = 59", "2: limits.per_hour: must not be less than limits.per_minute"),
        ("[limits]\nper_day = 999", "2: limits.per_day: must not be less than limits.per_hour"),
        (
            "[server]\ntls_cert = \"a\"",
            "2: server.tls_cert: must be set together with server.tls_key",
        ),
        (
            "[server]\ntls_key = \"a\"",
            "2: server.tls_cert: must be set together with server.tls_key",
        ),
        (
            "[server]\nhttp_listen = \"0.0.0.0:80\"",
            "2: server.http_listen: must be set together with server.tls_cert or server.acme_domains: it leads to HTTPS",
        ),
        (
            "[server]\nlisten_socket = \"web.sock\"\ntrusted_proxies = [\"10.0.0.5\"]",
            "3: server.listen_socket: needs \"127.0.0.1\" in server.trusted_proxies: what comes over the socket counts as from there",
        ),
        (
            "[mail]\nserver = \"smtp.example.com:587\"",
            "2: mail.server: must be set together with mail.from",
        ),
        ("[mail]\nuser = \"u\"", "2: mail.user: must be set together with mail.password_file"),
        (
            "[mail]\nfrom = \"a@b.example\"\ntls = \"none\"\nserver = \"10.0.0.1:25\"",
            "4: mail.tls: \"none\" is only for a server on this host, such as localhost:25",
        ),
        (
            "[webhooks]\nretry_gaps_s = [0, 5, 4]",
            "2: webhooks.retry_gaps_s: each wait must be at least as long as the one before it",
        ),
        (
            "[webhooks]\nretention_days = 3",
            "2: webhooks.retention_days: must be longer than the sum of webhooks.retry_gaps_s plus a fifth of it",
        ),
    ];
    for (text, expected) in cases {
        refused(text, expected);
    }
    assert_eq!(read("[webhooks]\nretention_days = 4").webhooks.retention_days, 4);
}

#[test]
fn a_wrong_value_is_not_said_again_about_what_it_goes_with() {
    refused(
        "[webhooks]\nretry_gaps_s = 3\nretention_days = 3",
        "2: webhooks.retry_gaps_s: must be an array, not an integer",
    );
    refused(
        "[limits]\nper_minute = 5000\nper_hour = \"x\"",
        "3: limits.per_hour: must be an integer, not a string",
    );
}

#[test]
fn every_problem_is_reported_with_its_line() {
    let text = "# one\n[log]\nlevel = \"loud\"\nformat = 1\n\n[limits]\nper_day = 1\n[server]\nport = 1\n\
                trusted_proxies = [\n  \"10.0.0.0/8\",\n  \"x\",\n  \"10.0.0.0/99\",\n]\n[lok]\n";
    let expected = [
        "3: log.level: must be one of \"error\", \"warn\", \"info\", \"debug\", \"trace\", not \"loud\"",
        "4: log.format: must be a string, not an integer",
        "7: limits.per_day: must not be less than limits.per_hour",
        "9: unknown key \"server.port\"",
        "12: server.trusted_proxies: \"x\" is not a network in CIDR notation, such as \"10.0.0.0/8\"",
        "13: server.trusted_proxies: \"10.0.0.0/99\" is not a network in CIDR notation, such as \"10.0.0.0/8\"",
        "15: unknown section \"lok\"; did you mean \"log\"?",
    ];
    assert_eq!(problems(text), expected);
}

#[test]
fn what_is_not_toml_is_refused_with_its_line() {
    let found = problems("[server]\nlisten = localhost\n\n[log\nlevel = \"info\"\n");
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(found[0].starts_with("2: ") && found[1].starts_with("4: "), "{found:#?}");
    refused("[log]\nlevel = \"info\"\nlevel = \"warn\"\n", "3: duplicate key");
}

#[test]
fn showing_says_where_a_value_comes_from_and_can_be_read_again() {
    let text = "[server]\nlisten = \"0.0.0.0:80\"\ntrusted_proxies = [\n  \"10.0.0.0/8\", # ours\n]\n\
                [data]\ncache_mib = 32\n[msp]\nid = \"A \\\"B\\\" # C\"\n";
    let options = read(text);
    let shown = show(&options);
    let lines: Vec<&str> = shown.lines().collect();
    for line in [
        "listen = \"0.0.0.0:80\"  # posture.toml:2",
        "trusted_proxies = [\"10.0.0.0/8\"]  # posture.toml:3",
        "cache_mib = 32",
        "id = 'A \"B\" # C'  # posture.toml:9",
        "# public_url is not set",
        "level = \"info\"",
    ] {
        assert!(lines.contains(&line), "{line}\nis not in\n{shown}");
    }
    let again = parse("shown", &shown).unwrap();
    assert_eq!((again.server, again.msp, again.data), (options.server, options.msp, options.data));
    assert_eq!(read(&show(&Config::default())), Config::default());
    let odd = read("[data]\ndir = \"a \\\"b\\\" \u{a0}\u{202e}c\"\n");
    assert!(show(&odd).contains(r#"dir = "a \"b\" \U000000a0\U0000202ec""#), "{}", show(&odd));
    assert_eq!(parse("shown", &show(&odd)).unwrap().data, odd.data);
}

#[test]
fn a_file_is_read_from_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    fs::write(&path, "\u{feff}[log]\nlevel = \"warn\"\n").unwrap();
    let options = load(Some(&path)).unwrap();
    assert_eq!(options.log.level, LogLevel::Warn);
    assert_eq!(options.file, Some(path.clone()));
    assert!(show(&options).starts_with(&format!("# Read from {}.\n", path.display())));
    assert_eq!(check(Some(&path)).unwrap(), []);
}

#[test]
fn a_wrong_file_is_refused_in_one_line_with_all_problems_as_details() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    fs::write(&path, "[log]\nlevel = 3\nform = 4\n").unwrap();
    let name = path.display().to_string();
    let found = check(Some(&path)).unwrap();
    assert_eq!(
        found[0].to_string(),
        format!("{name}:2: log.level: must be a string, not an integer")
    );
    let error = load(Some(&path)).unwrap_err();
    let more = "(and 1 more; `posture config check` lists them)";
    assert_eq!(error.message(), format!("{} {more}", found[0]));
    let details: Vec<String> =
        error.details.iter().map(|it| format!("{}: {}", it.field, it.message)).collect();
    assert_eq!(details, found.iter().map(ToString::to_string).collect::<Vec<_>>());

    fs::write(&path, b"[log]\nlevel = \"\xff\"\n").unwrap();
    assert_eq!(
        load(Some(&path)).unwrap_err().message(),
        format!("{name}:2: is not UTF-8; save it as UTF-8")
    );
    assert_eq!(
        check(Some(&path)).unwrap()[0].to_string(),
        format!("{name}:2: is not UTF-8; save it as UTF-8")
    );
}

#[test]
fn a_file_that_is_not_there_or_too_long_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    let message = load(Some(&path)).unwrap_err().message().to_owned();
    assert!(message.starts_with(&format!("cannot read {}: ", path.display())), "{message}");
    assert!(check(Some(&path)).is_err());
    let long = usize::try_from(FILE_BYTES_MAX).unwrap();
    fs::write(&path, "#".repeat(long)).unwrap();
    assert_eq!(load(Some(&path)).unwrap().log, Config::default().log);
    fs::write(&path, "#".repeat(long + 1)).unwrap();
    let message = load(Some(&path)).unwrap_err().message().to_owned();
    assert!(message.ends_with("is longer than 1048576 bytes"), "{message}");
}

#[test]
fn the_command_line_goes_before_the_environment_and_that_before_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().join("posture.toml");
    let (given, named) = (Path::new("given.toml"), || Some(OsString::from("named.toml")));
    assert_eq!(locate(None, None, folder.path()), None);
    fs::write(&here, "").unwrap();
    assert_eq!(locate(None, None, folder.path()), Some(here.clone()));
    assert_eq!(locate(None, Some(OsString::new()), folder.path()), Some(here));
    assert_eq!(locate(None, named(), folder.path()), Some(PathBuf::from("named.toml")));
    assert_eq!(locate(Some(given), named(), folder.path()), Some(given.to_path_buf()));
}
