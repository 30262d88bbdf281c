//! Why options are set in the file alone.

/// By the start of the key. The first that fits counts.
const REASONS: &[(&str, &str)] = &[
    (
        "server.",
        "It decides how people reach this page: a wrong value would lock everybody out, and it is read before anybody can sign in.",
    ),
    ("data.", "It says where the database is, which has everything that is set here."),
    ("database.", "It says where the database is, which has everything that is set here."),
    ("msp.id", "Other systems know this installation by it."),
    (
        "mail.password_file",
        "Over the network, nobody may name a file of the host: the password itself is entered.",
    ),
    ("mail.ca_file", "Over the network, nobody may name a file of the host."),
    (
        "mail.",
        "They count together, and are set together: with set_mail, or above on the page Settings.",
    ),
    ("auth.", "Whoever got hold of one session could turn the second factor off for everybody."),
    ("oidc.", "It decides who is an administrator, which no administrator's session should."),
    ("limits.", "Keys have limits of their own on the page Keys; these are read at the start."),
    ("scan.", "What may be scanned from this host is decided by those who answer for its network."),
    (
        "webhooks.",
        "What this host may send to, and how hard, is decided by those who answer for its network.",
    ),
    ("connect.", "What this host may send to is decided by those who answer for its network."),
    (
        "assessment.",
        "Results of all clients change with it. The settings of a client have its own value where that makes sense.",
    ),
    (
        "retention.",
        "What is removed is gone, of all clients. The settings of a client have its own terms, and a hold keeps everything.",
    ),
    ("import.", "Over the network, nobody may name a folder of the host."),
    ("backup.recipients", "Whoever could change it could read every later backup."),
    ("backup.after_command", "It runs a program on the host."),
    ("log.", "It is needed before the database is open."),
];

const OTHER: &str = "It is read at the start.";

/// Why an option is set in the file alone.
#[must_use]
pub fn why_in_file(key: &str) -> &'static str {
    REASONS.iter().find(|it| key.starts_with(it.0)).map_or(OTHER, |it| it.1)
}
