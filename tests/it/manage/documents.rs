//! Reports that people read: what they say is what the API says, in both languages, signed.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;

use posture::app::report::document::Letterhead;
use posture::paper::signature::{PublicKey, Signature, Unsigned, verify};
use serde_json::{Value, json};

use super::{GOOD, MIXED, import, read};
use crate::harness::{Answer, Posture, catalog, tool};

const HOSTILE: &str = "<script>alert('1')</script> & \"Söhne\" {{x}} 日本";

pub(super) fn named(name: &str) -> Posture {
    let letterhead = Letterhead { name: Some(name.to_owned()), ..Letterhead::default() };
    Posture::start_with(|it| it.app.letterhead = letterhead)
}

fn path(client: &str, query: &str) -> String {
    format!("/api/clients/{client}/reports/posture?{query}")
}

pub(super) fn ask(posture: &Posture, client: &str, query: &str) -> Answer {
    let answer = posture.operator("GET", &path(client, query), &Value::Null);
    assert_eq!(answer.status, 200, "{query}: {}", answer.text());
    answer
}

/// A client with the longest name keeps nobody's report from being made.
#[test]
fn the_longest_word_fits_into_every_report() {
    let posture = Posture::start();
    let client = posture.client(&"W".repeat(500));
    import(&posture, &client, "", MIXED);
    let framework = format!("/api/clients/{client}/reports/CIS_V8?format=pdf");
    let portfolio = "/api/portfolio/report?format=pdf".to_owned();
    for path in [path(&client, "format=pdf"), framework, portfolio] {
        let answer = posture.operator("GET", &path, &Value::Null);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        assert!(verify(&answer.body).is_ok(), "{path}");
    }
}

/// The texts of a page, one for each element or piece between elements.
pub(super) fn texts(page: &str) -> Vec<String> {
    let body = page.split_once("<body>").unwrap().1;
    let pieces = body.split('<').skip(1).filter_map(|it| it.split_once('>'));
    let plain = pieces.map(|(_, text)| {
        let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
        text.replace("&#39;", "'").replace("&amp;", "&").trim().to_owned()
    });
    plain.filter(|it| !it.is_empty()).collect()
}

/// A client with a score, risks, an amount and a quarter in which something happened.
pub(super) fn busy(posture: &Posture, name: &str) -> String {
    let body = json!({"name": name, "industry": "Legal", "employeeCount": 40});
    let client = posture.client_with(&body);
    import(posture, &client, "", GOOD);
    posture.pass_days(3);
    posture.sweep();
    import(posture, &client, "", MIXED);
    client
}

#[test]
fn a_report_says_what_the_api_says() {
    let posture = named("Northwind");
    let client = busy(&posture, "Acme Ltd");
    let answer = ask(&posture, &client, "");
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    let name = Some("attachment; filename=\"Acme-Ltd-report-en.html\"");
    assert_eq!(answer.header("content-disposition"), name);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let page = answer.text();
    assert!(page.starts_with("<!doctype html>\n<html lang=\"en\">"), "{page}");
    let texts = texts(&page);
    let shown = read(&posture, &format!("/api/clients/{client}/posture"));
    let has = |wanted: &str| {
        assert!(texts.iter().any(|it| it == wanted), "no {wanted:?} in {texts:?}");
    };
    let score = &shown["score"];
    has(&format!("{} / 100", score["overallScore"]));
    has(&format!("{}%", shown["coverage"]));
    has("Grade F, provisional");
    assert!(shown["provisional"] == true && score["grade"] == "F");
    let risks = read(&posture, &format!("/api/clients/{client}/risks?limit=100"));
    let risks = risks.as_array().unwrap();
    has(&risks.len().to_string());
    for risk in risks.iter().take(10) {
        has(risk["title"].as_str().unwrap());
    }
    let exposure = shown["expectedLoss"]["exposure"].as_u64().unwrap();
    assert!((1_000..1_000_000).contains(&exposure), "{exposure}");
    has(&format!("${},{:03}", exposure / 1_000, exposure % 1_000));
    let all = read(&posture, &format!("/api/clients/{client}/controls"));
    let unseen = all.as_array().unwrap().iter().filter(|it| it["partialBecause"] == "unseen");
    let unseen: Vec<&str> = unseen.map(|it| it["controlCode"].as_str().unwrap()).collect();
    let is_unseen = |code: &str| unseen.contains(&code);
    for control in shown["controls"].as_array().unwrap() {
        let code = control["controlCode"].as_str().unwrap();
        let at = texts.iter().rposition(|it| it == code).unwrap();
        let status = match control["status"].as_str().unwrap() {
            "compliant" => "Compliant",
            "partial" if is_unseen(code) => "Met where seen",
            "partial" => "Partly met",
            "non_compliant" => "Not compliant",
            "not_assessed" => "Not assessed",
            "not_applicable" => "Not applicable",
            other => panic!("{other}"),
        };
        let score = control["score"].as_u64().map_or("–".to_owned(), |it| it.to_string());
        assert_eq!((&*texts[at + 3], &texts[at + 4]), (status, &score), "{code}");
    }
    let frameworks = read(&posture, &format!("/api/clients/{client}/compliance"));
    for it in frameworks.as_array().unwrap().iter().take(11) {
        let id = it["frameworkId"].as_str().unwrap();
        let found = catalog().frameworks.iter().find(|known| known.id.as_str() == id).unwrap();
        let name = format!("{} · {}/100", found.name, it["readinessScore"]);
        let at = texts.iter().position(|it| *it == name).unwrap_or_else(|| panic!("{name}"));
        let count = |name: &str| it[name].as_u64().unwrap();
        let known = ["passedControls", "partialControls", "failedControls"].map(count);
        let rest = count("totalControls") - known.iter().sum::<u64>();
        let counts: Vec<String> = known.iter().chain([&rest]).map(u64::to_string).collect();
        assert_eq!(texts[at + 1..at + 5], counts, "{id}");
    }
}

#[test]
fn what_nobody_assessed_is_said_and_never_counts_as_good() {
    let posture = named("Northwind");
    let client = posture.client("Acme");
    let page = ask(&posture, &client, "").text();
    let n = catalog().controls.len();
    for wanted in [
        "Acme has no score yet",
        "0%",
        "No framework in scope shows any readiness yet.",
        "No risk is open among what is assessed.",
        "No source has reported about the client.",
        &format!("{n} of {n} controls that apply are not assessed"),
    ] {
        assert!(page.contains(wanted), "{wanted}");
    }
    assert!(!page.contains("Compliant</td>"), "nothing is compliant");
    import(&posture, &client, "", GOOD);
    let page = ask(&posture, &client, "language=fr").text();
    assert!(page.contains("Le pointage est provisoire, car moins de 40\u{a0}% est évalué."));
}

#[test]
fn nothing_that_anybody_named_runs_and_nothing_is_fetched() {
    let posture = named(HOSTILE);
    let client = busy(&posture, HOSTILE);
    let facts =
        json!({"source": HOSTILE, "observations": [{"control": "ID-01", "status": "compliant"}]});
    let pushed = posture.operator("POST", &format!("/api/clients/{client}/facts"), &facts);
    assert_eq!(pushed.status, 200, "{}", pushed.text());
    for query in ["language=en", "language=fr"] {
        let page = ask(&posture, &client, query).text();
        let n_names = texts(&page).iter().filter(|it| it.contains(HOSTILE)).count();
        assert!(6 < n_names, "{n_names}");
        for barred in ["<script", "src=\"http", "href=", "url(http", "@import", "onerror"] {
            assert!(!page.contains(barred), "{barred}");
        }
        let pdf = ask(&posture, &client, &format!("{query}&format=pdf")).body;
        assert_eq!(verify(&pdf).unwrap().by, HOSTILE);
    }
}

#[test]
fn the_same_moment_gives_the_same_bytes() {
    let posture = named("Northwind");
    let client = busy(&posture, "Acme");
    let mut all = BTreeSet::new();
    for query in ["", "format=pdf", "language=fr", "format=pdf&language=fr"] {
        let first = ask(&posture, &client, query).body;
        assert_eq!(first, ask(&posture, &client, query).body, "{query}");
        all.insert(first);
    }
    posture.pass_s(60);
    all.insert(ask(&posture, &client, "format=pdf").body);
    assert_eq!(all.len(), 5);
    let kept = all.iter().filter(|it| it.starts_with(b"%PDF-1.7")).count();
    assert_eq!(kept, 3);
}

/// What is the same in both languages.
fn is_same(text: &str, posture: &Value) -> bool {
    let catalog = catalog();
    let codes = catalog.controls.iter().map(|it| &it.code);
    let shown = |it: &str| text == it || text.starts_with(&format!("{it} · "));
    codes.chain(catalog.frameworks.iter().map(|it| &it.name)).any(|it| shown(it))
        || posture["names"].as_array().unwrap().iter().any(|it| it == text)
        || !text.contains(char::is_alphabetic)
}

#[test]
fn nothing_of_a_french_report_is_left_in_english() {
    let posture = named("Northwind");
    let names =
        json!({"names": ["Northwind", "Acme", "Source", "Sources", "Signature", "prowler"]});
    for client in [busy(&posture, "Acme"), posture.client("Acme")] {
        let [english, french] = ["en", "fr"].map(|language| {
            let page = ask(&posture, &client, &format!("language={language}")).text();
            assert!(page.contains(&format!("<html lang=\"{language}\">")));
            texts(&page)
        });
        let english: BTreeSet<&String> = english.iter().collect();
        let left: Vec<_> =
            french.iter().filter(|it| english.contains(it) && !is_same(it, &names)).collect();
        assert!(left.is_empty(), "{left:?}");
        for it in french.iter().filter(|it| !is_same(it, &names)) {
            let words: Vec<&str> = it.split(' ').collect();
            // Titles of the catalog are within quotes.
            let plain = it.split('«').next().unwrap();
            for english in [" the ", " is ", " are ", " of ", " and "] {
                assert!(!plain.contains(english), "{it}");
            }
            assert!(!words.is_empty());
        }
        let date =
            french.iter().any(|it| it.starts_with("En date du 1") && it.contains(" mars 2026, "));
        assert!(date, "{french:?}");
    }
}

/// A signature and the keys of the service.
pub(super) fn key(posture: &Posture) -> PublicKey {
    let keys = &read(posture, "/api/system")["reportKeys"];
    let signing: Vec<_> =
        keys.as_array().unwrap().iter().filter(|it| it["signing"] == true).collect();
    assert_eq!(signing.len(), 1, "{keys}");
    let key = PublicKey::read(signing[0]["publicKey"].as_str().unwrap()).unwrap();
    assert_eq!(signing[0]["fingerprint"], key.fingerprint());
    key
}

#[test]
fn risks_and_what_to_do_are_in_the_language_of_the_report() {
    let posture = named("Acme");
    let client = busy(&posture, "Acme");
    let unknown = super::prowler(&[("a_check_of_its_own", "FAIL", "critical", "root")]);
    let query = "observedAt=now&source=another";
    assert_eq!(posture.import(&client, query, &unknown).status, 200);
    let [english, french] =
        ["en", "fr"].map(|it| ask(&posture, &client, &format!("language={it}")).text());
    let catalog = crate::harness::catalog();
    let risks =
        posture.operator("GET", &format!("/api/clients/{client}/risks"), &Value::Null).json();
    let mut n_controls = 0;
    for risk in risks["data"].as_array().unwrap() {
        let title = risk["title"].as_str().unwrap();
        let Some(code) = risk["controlCode"].as_str() else {
            let said = title.replace("Check failed: \"", "").replace('"', "");
            assert!(
                french.contains(&format!("Vérification échouée\u{a0}: «\u{a0}{said}\u{a0}»")),
                "{french}"
            );
            continue;
        };
        n_controls += 1;
        let gap =
            &catalog.controls[catalog.find_control(code).unwrap()].french.as_ref().unwrap().gap;
        let gap = gap.replace('\'', "&#39;");
        let (shown, apostrophe) = (gap.replace("&#39;", "'"), french.contains(&gap));
        assert!(apostrophe || french.contains(&shown), "{gap}");
        assert!(english.contains(title) && !french.contains(title), "{title}");
    }
    assert!(1 < n_controls, "{risks}");
}

#[test]
fn a_signature_covers_every_byte() {
    let posture = named("Northwind");
    let client = posture.client("Acme");
    let (key, at) = (key(&posture), posture.now());
    for query in ["format=html", "format=pdf"] {
        let document = ask(&posture, &client, query).body;
        let signed = Signature { key, by: "Northwind".to_owned(), at };
        assert_eq!(verify(&document), Ok(signed), "{query}");
        let n = document.len();
        for place in (0..n).step_by(n / 200).chain(n - 320..n) {
            let mut changed = document.clone();
            changed[place] ^= 1;
            assert!(verify(&changed).is_err(), "{query}: byte {place} of {n}");
        }
        let longer = [&document[..], b"\n"].concat();
        assert_eq!(verify(&longer), Err(Unsigned::Altered));
        assert_eq!(verify(&document[..n - 1]), Err(Unsigned::Altered));
        assert_eq!(verify(&document[..n - 400]), Err(Unsigned::Absent));
    }
    assert_eq!(verify(b""), Err(Unsigned::Absent));
}

#[test]
fn the_key_is_made_once_and_each_key_file_keeps_its_own() {
    let posture = named("Northwind");
    let first = key(&posture);
    let posture = posture.restart();
    assert_eq!(key(&posture), first);
    let rename = |from: &str, to: &str| {
        let (from, to) = (from.to_owned(), to.to_owned());
        move |dir: &std::path::Path| std::fs::rename(dir.join(from), dir.join(to)).unwrap()
    };
    let posture = posture.restart_after(rename("posture.key", "kept.key"), |_| ());
    let second = key(&posture);
    assert_ne!(first, second, "the other key file opens no key");
    let client = posture.client("Acme");
    assert_eq!(verify(&ask(&posture, &client, "").body).unwrap().key, second);
    assert_eq!(read(&posture, "/api/system")["reportKeys"].as_array().unwrap().len(), 2);
    let posture = posture.restart_after(rename("kept.key", "posture.key"), |_| ());
    assert_eq!(key(&posture), first, "it was kept");
    assert_eq!(verify(&ask(&posture, &client, "").body).unwrap().key, first);
}

#[test]
fn who_may_not_export_a_client_gets_no_report() {
    let posture = named("Northwind");
    let (own, other) = (posture.client("Acme"), posture.client("Other"));
    let limited = posture.key_with(&json!({"clientIds": [own], "scopes": ["read:export"]}));
    let of = |key: &str, client: &str| posture.fetch(key, &path(client, "")).status;
    assert_eq!((of(&limited, &own), of(&limited, &other)), (200, 403));
    let unscoped = posture.key_with(&json!({"scopes": ["read:compliance", "read:scores"]}));
    assert_eq!(of(&unscoped, &own), 403);
    let absent = "00000000-0000-4000-8000-000000000000";
    assert_eq!((of(&posture.key(), absent), of(&limited, absent)), (404, 403));
    let user = json!({"email": "v@example.com", "username": "v", "role": "viewer",
        "clientIds": [own], "password": "correct horse battery staple"});
    assert_eq!(posture.operator("POST", "/api/users", &user).status, 201);
    let token = posture.log_in("v", "correct horse battery staple");
    let of = |client: &str| {
        posture.as_user(&token, "GET", &path(client, "format=pdf"), &Value::Null).status
    };
    assert_eq!((of(&own), of(&other)), (200, 403));
    for (query, message) in [
        ("format=csv", "format: must be one of html, pdf"),
        ("language=de", "language: must be one of en, fr"),
    ] {
        let answer = posture.operator("GET", &path(&own, query), &Value::Null);
        assert_eq!(answer.status, 400, "{query}");
        assert!(answer.text().contains(message), "{}", answer.text());
    }
}

#[test]
fn a_report_is_in_the_audit_log() {
    let posture = named("Northwind");
    let client = posture.client("Acme");
    ask(&posture, &client, "format=pdf");
    posture.block_on(posture.app.checkpoint_audit()).unwrap();
    let log = read(&posture, "/api/audit?limit=10");
    let entry = log
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["action"] == "GET /api/clients/{clientId}/reports/posture");
    assert_eq!(entry.unwrap()["about"], format!("client {client}"));
}

#[test]
fn the_language_and_the_name_are_those_of_the_configuration() {
    let letterhead =
        Letterhead { name: None, logo: None, language: posture::paper::Language::French };
    let posture = Posture::start_with(|it| it.app.letterhead = letterhead);
    let client = posture.client("Acme");
    let answer = ask(&posture, &client, "");
    assert!(answer.text().contains("<html lang=\"fr\">"));
    let name = Some("attachment; filename=\"Acme-report-fr.html\"");
    assert_eq!(answer.header("content-disposition"), name);
    assert_eq!(verify(&answer.body).unwrap().by, "Posture");
    assert!(ask(&posture, &client, "language=en").text().contains("<html lang=\"en\">"));
}

mod needs_pypdf {
    use super::*;

    const READ: &str = "
import io, json, sys
from pypdf import PdfReader
r = PdfReader(io.BytesIO(sys.stdin.buffer.read()), strict=True)
c = r.trailer['/Root']
def kinds(it, found):
    it = it.get_object()
    if isinstance(it, list):
        for one in it: kinds(one, found)
    elif hasattr(it, 'get') and '/S' in it:
        found.append(it['/S'])
        if it['/S'] == '/Figure': found.append('alt ' + str(it.get('/Alt', '')))
        if '/K' in it: kinds(it['/K'], found)
    return found
print(json.dumps({'text': [p.extract_text() for p in r.pages], 'title': r.metadata.title, 'author': r.metadata.author,
    'made': str(r.metadata.creation_date), 'lang': c['/Lang'], 'marked': bool(c['/MarkInfo']['/Marked']),
    'outline': [it.title for it in r.outline], 'tags': kinds(c['/StructTreeRoot']['/K'], []),
    'actual': sum(p.get_contents().get_data().count(b'/ActualText') for p in r.pages),
    'images': sum(len(p.images) for p in r.pages)}))";

    fn parsed(document: &[u8]) -> Value {
        let mut command = Command::new(tool::pypdf());
        command.args(["-c", READ]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(document).unwrap();
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        serde_json::from_slice(&done.stdout).unwrap()
    }

    /// One line, single spaces.
    fn text(parsed: &Value) -> String {
        let pages = parsed["text"].as_array().unwrap().iter().map(|it| it.as_str().unwrap());
        let all = pages.collect::<Vec<_>>().join(" ");
        all.split([' ', '\n']).filter(|it| !it.is_empty()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    #[ignore = "needs the Python package pypdf"]
    fn a_pdf_says_what_the_page_says_and_can_be_read_aloud() {
        let posture = named("Northwind");
        let client = busy(&posture, "Acme");
        for language in ["en", "fr"] {
            let of = |format: &str| {
                ask(&posture, &client, &format!("format={format}&language={language}"))
            };
            let spoken = match language {
                "en" => "The score went from",
                _ => "Le pointage est passé de",
            };
            let parsed = parsed(&of("pdf").body);
            let pdf = text(&parsed);
            let is_read = |it: &&String| 3 < it.len() && !it.starts_with(spoken);
            for it in texts(&of("html").text()).iter().filter(is_read) {
                // Columns break texts into lines.
                let found = it.split(' ').all(|word| pdf.contains(word));
                assert!(found, "{language}: {it}");
            }
            assert_eq!((&parsed["lang"], &parsed["marked"]), (&json!(language), &json!(true)));
            assert_eq!(parsed["author"], "Northwind");
            assert_eq!(parsed["made"], "2026-03-13 09:00:00+00:00");
            let tags = parsed["tags"].as_array().unwrap();
            for wanted in ["/H1", "/H2", "/P", "/Table", "/TH", "/TD", "/L", "/LI", "/Figure"] {
                assert!(tags.iter().any(|it| it == wanted), "{wanted}");
            }
            let alternative = format!("alt {spoken}");
            assert!(tags.iter().any(|it| it.as_str().unwrap().starts_with(&alternative)));
            assert!(9 < parsed["outline"].as_array().unwrap().len());
        }
    }

    #[test]
    #[ignore = "needs the Python package pypdf"]
    fn a_pdf_has_the_logo_and_keeps_names_that_its_fonts_cannot_show() {
        let mut picture = Vec::new();
        let mut encoder = png::Encoder::new(&mut picture, 4, 2);
        encoder.set_color(png::ColorType::Rgba);
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(&[200; 32]).unwrap();
        drop(writer);
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("logo.png"), picture).unwrap();
        let logo = posture::paper::Logo::open(&dir.path().join("logo.png")).unwrap();
        let letterhead = Letterhead {
            name: Some("Northwind".to_owned()),
            logo: Some(Arc::new(logo)),
            ..Letterhead::default()
        };
        let posture = Posture::start_with(|it| it.app.letterhead = letterhead);
        let client = posture.client(HOSTILE);
        let parsed = parsed(&ask(&posture, &client, "format=pdf").body);
        assert_eq!(parsed["images"], 1);
        assert!(parsed["tags"].as_array().unwrap().iter().any(|it| it == "alt Northwind"));
        assert!(2 < parsed["actual"].as_u64().unwrap(), "the lines with the name say what it is");
        assert!(parsed["title"].as_str().unwrap().ends_with(HOSTILE));
        let page = ask(&posture, &client, "").text();
        assert!(page.contains("<img src=\"data:image/png;base64,iVBOR"));
    }
}
