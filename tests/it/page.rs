//! The pages for people: the guides and the API reference, as a browser gets them.

use std::collections::BTreeSet;
use std::path::Path;

use crate::harness::{Answer, Posture, send};

fn get(posture: &Posture, path: &str) -> Answer {
    send(posture.address, "GET", path, &[], b"")
}

/// The values of an attribute, in the page's order.
fn values(html: &str, attribute: &str) -> Vec<String> {
    let start = format!(" {attribute}=\"");
    let parts = html.split(&start).skip(1);
    parts.map(|it| it.split('"').next().unwrap().replace("&amp;", "&")).collect()
}

/// The names of the files in `assets/docs` with this ending.
fn embedded(folder: &str, ending: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/docs").join(folder);
    let entries = std::fs::read_dir(folder).unwrap();
    let names = entries.map(|it| it.unwrap().file_name().into_string().unwrap());
    names.filter(|it| it.ends_with(ending)).collect()
}

fn guides() -> Vec<String> {
    let names = embedded("", ".md");
    assert!(10 < names.len(), "{names:?}");
    let path = |it: &String| match it.trim_end_matches(".md") {
        "index" => "/docs/".to_owned(),
        name => format!("/docs/{name}"),
    };
    names.iter().map(path).collect()
}

#[test]
fn every_guide_is_served_with_a_title_and_the_list_of_all_guides() {
    let posture = Posture::start();
    let paths = guides();
    let mut titles = BTreeSet::new();
    for path in &paths {
        let page = get(&posture, path);
        assert_eq!(page.status, 200, "{path}");
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"), "{path}");
        let html = page.text();
        let title = html.split("<title>").nth(1).unwrap().split(" - Posture</title>").next();
        titles.insert(title.unwrap().to_owned());
        assert_eq!(html.matches("<h1").count(), 1, "{path}");
        let listed = html.split("<nav").nth(1).unwrap().split("</nav>").next().unwrap();
        let listed = values(listed, "href");
        for other in paths.iter().map(String::as_str).chain(["/docs/reference"]) {
            assert!(listed.iter().any(|it| it == other), "{path} does not list {other}");
        }
    }
    assert_eq!(titles.len(), paths.len(), "{titles:?}");
}

#[test]
fn a_guide_loads_its_stylesheet_and_nothing_else() {
    let posture = Posture::start();
    for path in guides() {
        let page = get(&posture, &path);
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; style-src 'self'; "), "{policy}");
        let html = page.text();
        assert!(policy.ends_with("form-action 'self'"), "{policy}");
        assert_eq!(html.matches("<form").count(), 1, "{path}: the search alone");
        for tag in ["<script", "<style", "<img", "<iframe", "<object", " style=", " on"] {
            let tags = html.split('<').filter_map(|it| it.split('>').next());
            let found = tags.filter(|it| format!("<{it}").contains(tag)).count();
            assert_eq!(found, 0, "{path} has {tag}");
        }
        assert_eq!(values(&html, "src"), [""; 0], "{path}");
        let loaded: Vec<_> = html.matches("<link rel=\"stylesheet\"").collect();
        assert_eq!(loaded.len(), 1, "{path}");
    }
    let style = get(&posture, "/docs/style.css");
    assert_eq!(style.header("content-type"), Some("text/css; charset=utf-8"));
    assert!(!style.text().contains("url(") && !style.text().contains("@import"));
}

#[test]
fn every_link_of_a_guide_leads_somewhere() {
    let posture = Posture::start();
    for path in guides() {
        let html = get(&posture, &path).text();
        let anchors = values(&html, "id");
        let unique: BTreeSet<_> = anchors.iter().collect();
        assert_eq!(unique.len(), anchors.len(), "{path} repeats an anchor");
        for link in values(&html, "href") {
            if link.starts_with("https://") {
                continue;
            }
            let (target, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let html = if target.is_empty() {
                html.clone()
            } else {
                let page = get(&posture, target);
                assert_eq!(page.status, 200, "{path} links to {link}");
                page.text()
            };
            let found = anchor.is_empty() || values(&html, "id").iter().any(|it| it == anchor);
            assert!(found, "{path} links to {link}");
        }
    }
}

#[test]
fn headings_have_the_anchors_that_links_to_a_guide_use() {
    let posture = Posture::start();
    for (path, anchor) in [
        ("/docs/api", "errors"),
        ("/docs/operate", "audit-log"),
        ("/docs/operate", "brute-force-protection"),
        ("/docs/events", "the-body-of-an-event"),
        ("/docs/events", "mfa_disabled-mfa-was-turned-off-for-an-account"),
        ("/docs/changelog", "010---2026-11-21"),
    ] {
        let found = values(&get(&posture, path).text(), "id");
        assert!(found.iter().any(|it| it == anchor), "{path} has {found:?}");
    }
}

#[test]
fn tables_code_and_characters_of_html_are_shown() {
    let posture = Posture::start();
    let html = get(&posture, "/docs/events").text();
    assert!(html.contains("<div class=\"table\" tabindex=\"0\"><table><thead>"), "no table");
    assert!(html.contains("<pre tabindex=\"0\"><code class=\"language-json\">"), "no code");
    for path in guides() {
        let html = get(&posture, &path).text();
        assert!(!html.contains("<th></th>"), "{path}: a header that says nothing");
        assert_eq!(html.matches("<pre").count(), html.matches("<pre tabindex=\"0\">").count());
    }
    assert!(html.contains("<code>GET /api/events?after=&lt;sequence&gt;</code>"), "not escaped");
}

#[test]
fn receivers_are_served_as_text_as_they_are() {
    let posture = Posture::start();
    let names = embedded("receivers", "");
    assert_eq!(names.len(), 3);
    for name in names {
        let answer = get(&posture, &format!("/docs/receivers/{name}"));
        assert_eq!(answer.status, 200, "{name}");
        assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"), "{name}");
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/docs/receivers");
        assert_eq!(answer.body, std::fs::read(folder.join(name)).unwrap());
    }
}

#[test]
fn the_reference_shows_the_document_of_this_service() {
    let posture = Posture::start();
    for path in ["/docs/reference", "/docs/reference/"] {
        let page = get(&posture, path);
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; "), "{policy}");
        let html = page.text();
        let loaded = [values(&html, "src"), values(&html, "href")].concat();
        assert!(5 < loaded.len(), "{loaded:?}");
        for path in loaded {
            assert_eq!(get(&posture, &path).status, 200, "{path}");
        }
    }
    let document = get(&posture, "/openapi.json").json();
    let described = document["info"]["description"].as_str().unwrap();
    assert!(described.contains("](/docs/events)"), "the document does not link to the guide");
    for link in described.split("](/").skip(1).filter_map(|it| it.split(')').next()) {
        assert_eq!(get(&posture, &format!("/{link}")).status, 200, "{link}");
    }
    let script = get(&posture, "/docs/reference/start.js");
    assert!(script.text().contains("url: \"/openapi.json\""));
    assert_eq!(script.header("content-type"), Some("text/javascript; charset=utf-8"));
}

#[test]
fn pages_are_tagged_checked_each_time_and_answer_head() {
    let posture = Posture::start();
    let own = ["/docs/style.css", "/docs/reference", "/docs/receivers/receiver.py"];
    for path in guides().into_iter().chain(own.map(str::to_owned)) {
        let page = get(&posture, &path);
        assert_eq!(page.header("cache-control"), Some("no-cache"), "{path}");
        assert_eq!(page.header("x-content-type-options"), Some("nosniff"), "{path}");
        let tag = page.header("etag").unwrap();
        let known = send(posture.address, "GET", &path, &[("If-None-Match", tag)], b"");
        assert_eq!((known.status, known.body.len()), (304, 0), "{path}");
        let head = send(posture.address, "HEAD", &path, &[], b"");
        assert_eq!((head.status, head.body.len()), (200, 0), "{path}");
        for name in ["content-type", "content-length", "etag"] {
            assert_eq!(head.header(name), page.header(name), "{path}: {name}");
        }
        let posted = send(posture.address, "POST", &path, &[], b"");
        assert_eq!((posted.status, posted.header("allow")), (405, Some("GET, HEAD")), "{path}");
    }
}

#[test]
fn an_unknown_guide_is_as_unknown_as_any_other_path() {
    let posture = Posture::start();
    for path in [
        "/docs/none",
        "/docs/index",
        "/docs/api.md",
        "/docs/api/",
        "/docs/receivers",
        "/docs/receivers/receiver.rb",
        "/docs/reference/none.js",
        "/docs/%2e%2e/api",
        "/docs/swagger-ui.css",
    ] {
        let answer = get(&posture, path);
        assert_eq!(answer.status, 404, "{path}");
        assert_eq!(
            answer.problem(),
            ("NOT_FOUND".to_owned(), "path not found".to_owned()),
            "{path}"
        );
    }
}

#[test]
fn people_see_a_page_where_there_is_nothing() {
    let posture = Posture::start();
    for path in ["/docs/none", "/docs/reference/none.js", "/go/none", "/go/risk/x", "/none"] {
        let answer = send(posture.address, "GET", path, &[("Accept", "text/html")], b"");
        assert_eq!(answer.status, 404, "{path}");
        assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"), "{path}");
        assert!(answer.text().contains("There is nothing at this address."), "{path}");
    }
    let operation = send(posture.address, "GET", "/api/none", &[("Accept", "text/html")], b"");
    assert_eq!(operation.problem().0, "NOT_FOUND");
}

#[test]
fn the_guides_can_be_searched() {
    let posture = Posture::start();
    let search = |query: &str| {
        let query: String = form_urlencoded::byte_serialize(query.as_bytes()).collect();
        let page = get(&posture, &format!("/docs/search?q={query}"));
        assert_eq!((page.status, page.header("cache-control")), (200, Some("no-store")));
        page.text()
    };
    let main = |html: &str| html.split("<main>").nth(1).unwrap().to_owned();
    // A word of a heading comes first, and the section is linked.
    let html = search("Reverse PROXY");
    let first = html.split("<ol class=\"found\">\n<li><a href=\"").nth(1).unwrap();
    assert!(
        first.starts_with("/docs/install#behind-a-reverse-proxy\">Install: Behind a"),
        "{first}"
    );
    assert!(html.contains("<mark>proxy</mark>"), "{html}");
    for link in values(&main(&html), "href") {
        let (path, anchor) = link.split_once('#').unwrap();
        let page = get(&posture, path);
        assert_eq!(page.status, 200, "{link}");
        assert!(values(&page.text(), "id").iter().any(|it| it == anchor), "{link}");
    }
    assert!(search("X-Forwarded-Proto").contains("/docs/install#behind-a-reverse-proxy"));
    assert!(search("zzzz-nowhere").contains("Nothing was found."));
    // All words must be there.
    assert!(search("proxy zzzz-nowhere").contains("Nothing was found."));
    assert!(search("the").contains("The first 30 sections."));
    assert_eq!(main(&search("the")).matches("<li>").count(), 30);
    // What was asked for is text.
    let html = search("\"><b>é");
    assert!(html.contains("value=\"&quot;&gt;&lt;b&gt;é\""), "{html}");
    assert!(search("").contains("Enter a word"));
    assert!(get(&posture, "/docs/search").text().contains("Enter a word"));
    assert!(!search(&"é".repeat(100)).contains("at most"));
    assert!(search(&"é".repeat(101)).contains("Search for at most 100 characters."));
    assert!(!search("a b c d e f g h").contains("at most"));
    assert!(search("a b c d e f g h i").contains("Search for at most 8 words."));
}

#[test]
fn the_start_of_the_service_leads_to_the_sign_in() {
    let posture = Posture::start();
    for method in ["GET", "HEAD"] {
        let answer = send(posture.address, method, "/", &[], b"");
        assert_eq!((answer.status, answer.header("location")), (303, Some("/sign-in")));
        assert!(answer.body.is_empty());
    }
    assert_eq!(get(&posture, "/docs").body, get(&posture, "/docs/").body);
}
