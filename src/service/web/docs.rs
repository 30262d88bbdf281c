//! The guides and the API reference. Everything is in the executable; nothing is loaded from outside.

use std::fmt::Write as _;

use std::sync::OnceLock;

use poem::endpoint::make_sync;
use poem::http::header;
use poem::{Request, Response, Route, RouteMethod, get};

use crate::web::asset::{CSS, HTML, PLAIN, SCRIPT, file, page};
use crate::web::guide::{self, Guide};
use crate::web::search::{Found, Index, N_RESULTS_MAX, QUERY_CHARS_MAX, Query};

/// A guide may load only its stylesheet, and send its search here.
const GUIDE_POLICY: &str = "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'; \
                            form-action 'self'";
/// The reference may load only from this service. Swagger UI sets inline styles and shows embedded images.
const REFERENCE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
                                img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; \
                                form-action 'none'";

macro_rules! file {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../assets/docs/", $name)))
    };
}

const INDEX: &str = include_str!("../../../assets/docs/index.md");

/// The guides as the navigation lists them.
const GUIDES: [(&str, &[(&str, &str)]); 4] = [
    (
        "Run it",
        &[
            file!("install.md"),
            file!("operate.md"),
            file!("connect.md"),
            file!("troubleshooting.md"),
            file!("security.md"),
            file!("replication.md"),
            file!("postgres.md"),
            file!("limits.md"),
            file!("figures.md"),
        ],
    ),
    (
        "Connect to it",
        &[file!("api.md"), file!("events.md"), file!("webhooks.md"), file!("facts.md")],
    ),
    (
        "Understand results",
        &[file!("console.md"), file!("shell.md"), file!("assessment.md"), file!("scanning.md")],
    ),
    ("Work on it", &[file!("architecture.md"), file!("changelog.md")]),
];

/// Examples that guides link to.
const RECEIVERS: [(&str, &str); 3] = [
    file!("receivers/receiver.py"),
    file!("receivers/receiver.mjs"),
    file!("receivers/receiver.ps1"),
];

/// What is under `/docs`. `unknown`: answers at all other addresses.
pub(super) fn routes(unknown: impl Fn() -> RouteMethod) -> Route {
    let mut routes = Route::new()
        .at("/", page(HTML, GUIDE_POLICY, || show("", INDEX).into()))
        .at("/style.css", file(CSS, GUIDE_POLICY, include_bytes!("../../../assets/docs/style.css")))
        .at("/search", search())
        .nest("/reference", with_unknown(reference(), &unknown));
    for (name, text) in guides() {
        routes =
            routes.at(format!("/{name}"), page(HTML, GUIDE_POLICY, || show(name, text).into()));
    }
    for (path, text) in RECEIVERS {
        routes = routes.at(format!("/{path}"), file(PLAIN, GUIDE_POLICY, text.as_bytes()));
    }
    with_unknown(routes, &unknown)
}

fn with_unknown(routes: Route, unknown: &impl Fn() -> RouteMethod) -> Route {
    routes.at("/:unknown", unknown()).at("/:unknown/*rest", unknown())
}

fn reference() -> Route {
    macro_rules! embedded {
        ($name:literal) => {
            include_bytes!(concat!("../../../assets/docs/reference/", $name))
        };
    }
    Route::new()
        .at("/", file(HTML, REFERENCE_POLICY, embedded!("index.html")))
        .at("/start.js", file(SCRIPT, REFERENCE_POLICY, embedded!("start.js")))
        .at("/page.css", file(CSS, REFERENCE_POLICY, embedded!("page.css")))
        .at("/swagger-ui.css", file(CSS, REFERENCE_POLICY, embedded!("swagger-ui.css")))
        .at(
            "/swagger-ui-bundle.js",
            file(SCRIPT, REFERENCE_POLICY, embedded!("swagger-ui-bundle.js")),
        )
}

/// The name and the text of each guide but the index.
fn guides() -> impl Iterator<Item = (&'static str, &'static str)> {
    let guides = GUIDES.into_iter().flat_map(|(_, guides)| guides);
    guides.map(|(file, text)| (file.trim_end_matches(".md"), *text))
}

/// Finds sections of the guides. It is not kept, as the guides are: everyone asks for something else.
fn search() -> RouteMethod {
    let kept = OnceLock::new();
    get(make_sync(move |request: Request| {
        let index = kept.get_or_init(|| Index::of(std::iter::once(("", INDEX)).chain(guides())));
        let query = request.uri().query().unwrap_or_default();
        let query = form_urlencoded::parse(query.as_bytes()).find(|it| it.0 == "q");
        let query = query.map(|it| it.1.trim().to_owned()).unwrap_or_default();
        let found = match Query::read(&query) {
            Ok(words) => found(&index.find(&words)),
            Err(rule) => format!("<p>{rule}</p>\n"),
        };
        let html = format!("<h1>Search the guides</h1>\n{}{found}", search_form(&query));
        Response::builder()
            .content_type(HTML)
            .header(header::CONTENT_SECURITY_POLICY, GUIDE_POLICY)
            .header("Cross-Origin-Opener-Policy", "same-origin")
            .body(layout("Search", &navigation("search", &[]), &html))
    }))
}

fn found(found: &[Found<'_>]) -> String {
    let mut html = match found.len() {
        0 => return "<p>Nothing was found. Try fewer or other words.</p>\n".to_owned(),
        n if n <= N_RESULTS_MAX => format!("<p>Found in {n} sections.</p>\n"),
        _ => format!("<p>The first {N_RESULTS_MAX} sections. More words find less.</p>\n"),
    };
    html.push_str("<ol class=\"found\">\n");
    for it in found.iter().take(N_RESULTS_MAX) {
        let section = &it.section;
        let (name, anchor) = (section.guide, &section.anchor);
        let (guide, title) = (guide::escaped(section.guide_title), guide::escaped(&section.title));
        let _ = write!(html, "<li><a href=\"/docs/{name}#{anchor}\">{guide}: {title}</a>");
        let _ = writeln!(html, "<p>{}</p></li>", it.excerpt);
    }
    html.push_str("</ol>\n");
    html
}

fn search_form(query: &str) -> String {
    let query = guide::escaped(query).replace('"', "&quot;");
    format!(
        "<form class=\"search\" action=\"/docs/search\"><input type=\"search\" name=\"q\" value=\"{query}\" \
         maxlength=\"{QUERY_CHARS_MAX}\" aria-label=\"Search the guides\" required> <button>Search</button></form>\n"
    )
}

/// The page of a guide, whole.
fn show(name: &str, text: &str) -> String {
    let Guide { html, sections } = guide::render(text, address);
    layout(guide::title(text), &navigation(name, &sections), &html)
}

fn layout(title: &str, navigation: &str, html: &str) -> String {
    let title = guide::escaped(title);
    format!(
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} - Posture</title>
<link rel="stylesheet" href="/docs/style.css">
</head>
<body>
<nav aria-label="Guides">
{navigation}</nav>
<main>
{html}</main>
</body>
</html>
"#
    )
}

/// All guides, with the sections of the one that is shown.
fn navigation(shown: &str, sections: &[(String, String)]) -> String {
    let mut html = r#"<a class="home" href="/docs/">Posture guides</a>"#.to_owned();
    // The page of a search has one of its own.
    if shown != "search" {
        html.push_str(&search_form(""));
    }
    for (group, guides) in GUIDES {
        let _ = write!(html, "\n<p class=\"group\">{group}</p>\n<ul>\n");
        for (file, text) in guides {
            let (name, title) = (file.trim_end_matches(".md"), guide::escaped(guide::title(text)));
            if name == shown {
                let _ = write!(
                    html,
                    r#"<li><a href="/docs/{name}" aria-current="page">{title}</a><ul class="sections">"#
                );
                for (anchor, title) in sections {
                    let title = guide::escaped(title);
                    let _ = write!(html, "\n<li><a href=\"#{anchor}\">{title}</a></li>");
                }
                html.push_str("</ul></li>\n");
            } else {
                let _ = writeln!(html, r#"<li><a href="/docs/{name}">{title}</a></li>"#);
            }
            if name == "api" {
                html.push_str("<li><a href=\"/docs/reference\">API reference</a></li>\n");
            }
        }
        html.push_str("</ul>\n");
    }
    html
}

/// Where a link in a guide leads from its page. Returns `None` for what is in the repository alone.
fn address(link: &str) -> Option<String> {
    if link.starts_with("https://") || link.starts_with('#') {
        return Some(link.to_owned());
    }
    let (path, anchor) = match link.find('#') {
        Some(at) => link.split_at(at),
        None => (link, ""),
    };
    if path == "index.md" {
        return Some(format!("/docs/{anchor}"));
    }
    let guide = path.strip_suffix(".md").filter(|name| guides().any(|it| it.0 == *name));
    let receiver = RECEIVERS.iter().map(|it| it.0).find(|it| *it == path);
    guide.or(receiver).map(|name| format!("/docs/{name}{anchor}"))
}
