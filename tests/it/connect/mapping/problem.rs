//! What is wrong with a file, and where.

use posture::connect::mapping::{EXAMPLE, FILE_BYTES_MAX, check, read};

use super::{LEAST, with};

/// The problems of a file.
fn problems(text: &str) -> Vec<String> {
    match read("my.toml", text) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    }
}

/// That a change of the least mapping has this one problem.
fn refused(from: &str, to: &str, expected: &str) {
    let least = with("");
    assert!(least.contains(from), "{from}");
    let problems = problems(&least.replacen(from, to, 1));
    let (one, rest) = problems.split_first().unwrap_or_else(|| panic!("{to}: accepted"));
    assert!(one.contains(expected) && rest.is_empty(), "{to}:\n{}", problems.join("\n"));
}

#[test]
fn the_least_mapping_is_right() {
    assert_eq!(problems(&with("")), Vec::<String>::new());
}

/// What is wrong is told once, and nothing is called unknown because of it.
#[test]
fn a_mistake_has_no_others_after_it() {
    for (from, to, expected) in [
        ("path = \"/api/agents\"", "path = \"api/agents\"", "stream \"agents\": path: must be"),
        (
            "[device]\nstream = \"agents\"",
            "[device]\nstream = \"agnets\"",
            "there is no stream \"agnets\"",
        ),
        (
            "[device]\nstream = \"agents\"\nid = \"",
            "[device]\nstream = \"agents\"\nid = \"x",
            "device: id: ",
        ),
    ] {
        assert!(EXAMPLE.contains(from), "{from}");
        let problems = problems(&EXAMPLE.replacen(from, to, 1));
        let (one, rest) = problems.split_first().unwrap_or_else(|| panic!("{to}: accepted"));
        assert!(one.contains(expected) && rest.is_empty(), "{to}:\n{}", problems.join("\n"));
    }
}

#[test]
fn nothing_can_name_a_second_host() {
    for path in [
        "//evil.test/x",
        "https://evil.test/x",
        "/a//b",
        "x",
        "/a/../b",
        "/a?next=1",
        "/a#b",
        "/user@evil.test",
        "/a b",
        "/%2e%2e/x",
        "/a\\\\b",
        "",
    ] {
        refused("path = \"/orgs\"", &format!("path = \"{path}\""), "must be a path such as");
    }
    let regions = |origin: &str| {
        let region = format!("base = {{ region = [{{ name = \"eu\", origin = \"{origin}\" }}] }}");
        let text = with("").replacen("base = { own = \"The address of the server.\" }", &region, 1);
        problems(&text)
    };
    assert_eq!(regions("https://eu.example.com"), Vec::<String>::new());
    for origin in [
        "http://eu.example.com",
        "https://eu.example.com/",
        "https://eu.example.com:8443",
        "https://user@eu.example.com",
        "https://EU.example.com",
        "https://localhost",
        "https://a..b",
        "eu.example.com",
    ] {
        let problems = regions(origin);
        assert!(
            problems[0].contains("must be \"https://\" and a host name"),
            "{origin}: {problems:?}"
        );
    }
    refused(
        "auth = { kind = \"basic\" }",
        "auth = { kind = \"header\", name = \"Host\" }",
        "is no header for a key",
    );
}

/// What is changed in the least mapping, to what, and what is then said.
const CHANGES: &[(&str, &str, &str)] = &[
    (
        "kind = \"least\"",
        "kind = \"Least One\"",
        "my.toml:1: kind: must be 1 to 32 lower-case letters",
    ),
    ("title = \"Least\"\n", "", "missing key \"title\""),
    (
        "\"specification\"",
        "\"guess\"",
        "proof: must be one of \"recorded\", \"specification\", not \"guess\"",
    ),
    (
        "{ requests = 1, per_s = 1 }",
        "{ requests = 0, per_s = 1 }",
        "pace: requests: must be 1 to 10000",
    ),
    ("pace = { requests = 1, per_s = 1 }", "", "missing table [pace]"),
    ("[device]", "[device]\ncolor = 1", "unknown key \"color\""),
    (
        "[device]",
        "[device]\nencrypted = \"enc\"",
        "a JSON pointer begins with \"/\", such as \"/enc\"",
    ),
    ("[device]", "[device]\nencrypted = \"/a~2\"", "\"~\" is written as \"~0\""),
    ("[device]", "[device]\nencrypted = \"/a//b\"", "has an empty part"),
    ("[device]", "[device]\nencrypted = []", "must have 1 to 8 items"),
    ("[device]", "[device]\nencrypted = { words = { a = true } }", "missing key \"at\""),
    (
        "[device]",
        "[device]\nencrypted = { at = \"/a\", words = { a = 1 } }",
        "must be true, false or \"unknown\"",
    ),
    (
        "[device]",
        "[device]\nencrypted = { at = \"/a\", words = {} }",
        "must have 1 to 200 words, not 0",
    ),
    (
        "[device]",
        "[device]\nencrypted = { at = \"/a\", words = { A-b = true, a_B = false } }",
        "the same as another",
    ),
    (
        "[device]",
        "[device]\nencrypted = { at = \"/a\", words = { a = true }, filled = true }",
        "cannot stand beside words",
    ),
    (
        "[device]",
        "[device]\nencrypted = { at = \"/a\", words = { a = true }, contains = [] }",
        "cannot stand beside words",
    ),
    ("[device]", "[device]\nencrypted = { at = \"/a\", contains = [[\"a\"]] }", "must be a pair"),
    ("[device]", "[device]\nencrypted = { at = \"/a\", eval = \"x > 1\" }", "unknown key \"eval\""),
    (
        "[device]",
        "[device]\nencrypted = { at = \"/a\", stream = \"more\" }",
        "no stream of [[device.join]]",
    ),
    ("[device]", "[device]\nkind = \"/a\"", "needs a table that says what its values mean"),
    ("[device]", "[device]\nkind = { at = \"/a\" }", "needs words or contains"),
    (
        "[device]",
        "[device]\nkind = { at = \"/a\", words = { x = \"toaster\" } }",
        "must be one of \"server\"",
    ),
    ("[device]", "[device]\nlast_seen = \"/a\"", "needs a table that says what its values mean"),
    ("[device]", "[device]\nlast_seen = { at = \"/a\" }", "missing key \"time\""),
    (
        "[device]",
        "[device]\nlast_seen = { at = \"/a\", time = \"days\" }",
        "must be one of \"s\", \"ms\", \"rfc3339\"",
    ),
    (
        "[device]",
        "[device]\njoin = [{ stream = \"none\", device = \"/d\" }]",
        "there is no stream \"none\"",
    ),
    ("[device]", "[device]\norg_is_name = true", "org_is_name needs [organizations]"),
    ("[device]", "[device]\nantivirus = { running = \"/a\" }", "missing key \"current\""),
    ("[device]", "[device]\nos_patches = {}", "needs state or open"),
    ("name = \"more\"", "name = \"orgs\"", "two streams have the name \"orgs\""),
    (
        "path = \"/more\"",
        "path = \"/more\"\npager = { kind = \"jump\" }",
        "must be one of \"none\", \"after_id\"",
    ),
    ("org = { at = \"/org\", optional = true }", "", "missing key \"org\""),
    (
        "path = \"/more\"",
        "path = \"/more\"\nquery = { \"a&b\" = \"1\" }",
        "is not the name of a parameter",
    ),
    (
        "path = \"/more\"",
        "path = \"/more\"\nwindow = { parameter = \"from\", days = 0, form = \"date\" }",
        "must be 1 to 3650",
    ),
    ("name = \"password\"", "name = \"token\"", "must be one of \"username\", \"password\""),
];

#[test]
fn each_key_has_its_rule() {
    for (from, to, expected) in CHANGES {
        let least = with("");
        assert!(least.contains(*from), "{from}");
        let problems = problems(&least.replacen(from, to, 1));
        let said = problems.join("\n");
        assert!(said.contains(expected), "{to}: {said}");
        assert!(said.starts_with("my.toml:"), "{to}: no place: {said}");
    }
}

#[test]
fn all_problems_are_reported_at_once_by_line() {
    let text = with("encrypted = \"x\"\nfirewall = \"y\"").replace("kind = \"least\"", "kind = 5");
    let problems = problems(&text);
    assert_eq!(problems.len(), 3, "{problems:?}");
    assert!(
        problems[0].starts_with("my.toml:1: kind: must be a string, not an integer"),
        "{problems:?}"
    );
}

#[test]
fn there_are_limits() {
    let long = format!("{}# {}", with(""), "x".repeat(FILE_BYTES_MAX));
    assert_eq!(problems(&long), [format!("my.toml: is longer than {FILE_BYTES_MAX} bytes")]);
    let stream = "[[stream]]\nname = \"s0\"\npath = \"/\"\npermission = \"p\"\nrows = \"\"\n";
    let many: String = (0..40).map(|n| stream.replace("s0", &format!("s{n}"))).collect();
    assert!(problems("").len() > 3, "an empty file");
    let said =
        problems(&format!("{LEAST}{many}[device]\nstream = \"s1\"\nid = \"/i\"\nname = \"/i\"\n"));
    assert!(said.iter().any(|it| it.contains("stream: must have at most 32 items")), "{said:?}");
    assert!(problems("kind = ").len() == 1, "no TOML");
}

#[test]
fn an_example_that_differs_is_a_problem_with_both_sides() {
    let example = |facts: &str| {
        let text = with("firewall = { at = \"/f\", words = { on = true } }").replace(
            "name = \"nothing\"\n",
            &format!(
                "name = \"one\"\nanswers = {{ devices = '[{{\"id\": \"a\", \"f\": \"on\"}}, {{\"id\": \"b\", \"f\": \"?\"}}]' }}\n{facts}\n"
            ),
        );
        match check("my.toml", &text) {
            Ok(report) => vec![report.examples.join(", ")],
            Err(problems) => problems.iter().map(ToString::to_string).collect(),
        }
    };
    let right = "unmapped = [\"devices: /f: ? (1)\"]\ndevice = [\n\
                 { id = \"a\", name = \"a\", managed = true, firewall = true },\n{ id = \"b\", name = \"b\", managed = true }]";
    assert_eq!(example(right), ["one"]);
    for (from, to, expected) in [
        (
            "firewall = true",
            "firewall = false",
            "device \"a\": firewall: expected \"false\", not \"true\"",
        ),
        (", firewall = true", "", "device \"a\": firewall: expected nothing, not \"true\""),
        ("id = \"b\"", "id = \"c\"", "device \"c\" is missing"),
        ("unmapped = [\"devices: /f: ? (1)\"]", "", "unmapped: not expected: devices: /f: ? (1)"),
    ] {
        let said = example(&right.replace(from, to)).join("\n");
        assert!(
            said.starts_with("my.toml:11: example \"one\": ") && said.contains(expected),
            "{said}"
        );
    }
    let verdicts = "\nat = \"2026-11-23T00:00:00Z\"\nverdicts = { END-14 = \"compliant\" }";
    let said = example(&format!("{right}{verdicts}")).join("\n");
    assert!(said.contains("verdicts: END-14: expected \"compliant\", not nothing"), "{said}");
}

#[test]
fn an_answer_without_its_list_is_a_problem() {
    let text = with("").replace(
        "name = \"nothing\"\n",
        "name = \"one\"\nanswers = { devices = '{\"detail\": \"no\"}' }\n",
    );
    let problems = check("my.toml", &text).unwrap_err();
    assert!(problems[0].message.contains("answers: devices: has no list at \"\""), "{problems:?}");
    let text =
        with("").replace("name = \"nothing\"\n", "name = \"one\"\nanswers = { devices = '{' }\n");
    let problems = check("my.toml", &text).unwrap_err();
    assert!(problems[0].message.contains("is not JSON"), "{problems:?}");
}
