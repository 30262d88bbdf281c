//! Readers of text that others wrote: `encoding` is the one that knows byte order marks and what is no UTF-8.

use super::source::{below_package, code, sources};

/// What reads bytes as text or JSON without it.
const READERS: &[&str] =
    &["from_utf8(", "read_to_string(", "serde_json::from_slice", "from_reader("];

/// The files that may, and what their bytes are. Those of `encoding` are without a mark already.
const MAY_READ: &[(&str, &str)] = &[
    ("api/edge/metric.rs", "of /proc"),
    ("api/wire/body.rs", "of encoding: the names of the members of a body"),
    ("api/wire/multipart.rs", "the head of a part of a form, which has no mark"),
    ("app/report/account.rs", "a cursor of ours"),
    ("app/report/vulnerability.rs", "a cursor of ours"),
    ("app/setting/mod.rs", "a setting of ours"),
    ("auth/network.rs", "a header"),
    ("auth/token.rs", "a token of ours"),
    ("cli/call.rs", "an answer of ours"),
    ("cli/connect/m365.rs", "of encoding: the text of a file"),
    ("cli/proxy_check.rs", "an answer of ours"),
    ("cli/report/export.rs", "an answer of ours"),
    ("connect/ad/message.rs", "a text of LDAP, which has no mark"),
    ("connect/ad/value.rs", "a text of LDAP, which has no mark"),
    ("connect/aws/answer.rs", "of encoding: the text of an answer, and Base64 in it"),
    ("connect/call/mod.rs", "of encoding: an answer"),
    ("connect/m365/read/mailbox.rs", "of encoding: a report"),
    ("demo/receiver.rs", "a request of ours"),
    ("encoding.rs", "it is the reader"),
    ("engine/framework.rs", "an id of ours"),
    ("import/document.rs", "of encoding: `import::read` skips the mark"),
    ("import/inventory/client_list.rs", "of encoding: a list"),
    ("import/json.rs", "a record inside of a file"),
    ("import/nmap/masscan.rs", "a line inside of a file"),
    ("import/nmap/xml.rs", "of encoding: `import::read` skips the mark"),
    ("import/prowler/csv.rs", "a cell inside of a file"),
    ("import/sheet.rs", "a cell inside of a file"),
    ("import/xml.rs", "of encoding: `import::read` skips the mark"),
    ("mail/login.rs", "a part of a token, in Base64"),
    ("oidc/id_token.rs", "a part of a token, in Base64"),
    ("oidc/key_set.rs", "of encoding: `provider` skips the mark"),
    ("oidc/metadata.rs", "of encoding: `provider` skips the mark"),
    ("oidc/provider.rs", "of encoding: an answer"),
    ("paper/logo.rs", "a picture, whose reader skips the mark"),
    ("paper/signature.rs", "a signature of ours"),
    ("request.rs", "an id of ours"),
    ("scan/local.rs", "of /proc"),
    ("scan/name.rs", "/etc/resolv.conf"),
    ("secret.rs", "a secret that was opened"),
    ("serve/http/stream.rs", "a header"),
    ("store/node.rs", "a file of ours"),
    ("text.rs", "a letter and a character"),
    ("web/console/call.rs", "an answer of ours"),
    ("web/console/list.rs", "an answer of ours"),
    ("web/console/upload.rs", "a field of a form"),
];

#[test]
fn text_of_others_is_read_by_one_reader() {
    let mut found = Vec::new();
    for (path, text) in sources("src") {
        if READERS.iter().any(|it| code(&text).contains(it)) {
            found.push(below_package(&path).to_str().unwrap().to_owned());
        }
    }
    found.sort();
    let listed: Vec<&str> = MAY_READ.iter().map(|it| it.0).collect();
    assert!(listed.is_sorted());
    assert_eq!(
        found, listed,
        "read text that others wrote with `encoding`, or say here what it is"
    );
}
