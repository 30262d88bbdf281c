//! The report on mailboxes: a file in CSV at another place.

use super::plan::mailbox_report;
use crate::connect::call::{Answer, Api, Auth, Call, TokenSource, Unread, said};
use crate::connect::m365::tenant::Mailbox;
use crate::connect::microsoft::DIALECT;
use crate::egress::http::header;
use crate::encoding;

/// The hosts of Microsoft that files are fetched from. They get no token.
const HOSTS: &[&str] = &[".office.com", ".office365.com", ".office365.us", ".office365.cn"];

pub(super) async fn read(
    api: &Api,
    tokens: &TokenSource,
    graph: &str,
) -> Result<Vec<Mailbox>, Unread> {
    let call = mailbox_report(graph);
    let answer = api.ask(&call, &Auth::Bearer(tokens)).await?;
    let file = match answer.status {
        200 => answer,
        302 => api.call(&Call::get(file_url(&answer)?), &Auth::None).await?,
        _ => return Err((DIALECT.explain)(&answer, &call.permission)),
    };
    parse(&file.body)
}

fn file_url(answer: &Answer) -> Result<String, Unread> {
    let url = answer.headers.get(header::LOCATION).and_then(|it| it.to_str().ok());
    let url = url.unwrap_or_default();
    let rest = url.strip_prefix("https://").unwrap_or_default();
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    if HOSTS.iter().any(|it| host.ends_with(it)) && !host.contains(['@', ':', '\\']) {
        return Ok(url.to_owned());
    }
    Err(Unread::failed(format!("the report is said to be at another place{}", said(url))))
}

fn parse(bytes: &[u8]) -> Result<Vec<Mailbox>, Unread> {
    let bytes = encoding::without_mark(bytes);
    let unreadable = |_| Unread::failed("the report on mailboxes is not CSV");
    let mut reader = csv::Reader::from_reader(bytes);
    let headers = reader.headers().map_err(unreadable)?.clone();
    let find = |name: &str| headers.iter().position(|it| it.trim() == name);
    let name = find("User Principal Name").ok_or_else(|| {
        Unread::failed("the report on mailboxes has no column User Principal Name")
    })?;
    let others = ["Display Name", "Is Deleted", "Recipient Type"].map(find);
    let mut mailboxes = Vec::new();
    for record in reader.records() {
        let record = record.map_err(unreadable)?;
        let cell = |at: Option<usize>| at.and_then(|it| record.get(it)).map(str::to_owned);
        let [display_name, is_deleted, recipient_type] = others.map(cell);
        mailboxes.push(Mailbox {
            user_principal_name: cell(Some(name)),
            display_name,
            is_deleted: is_deleted.map(|it| it.eq_ignore_ascii_case("true")),
            recipient_type,
        });
    }
    let is_named =
        |it: &Mailbox| it.user_principal_name.as_deref().is_some_and(|it| it.contains('@'));
    if !mailboxes.is_empty() && !mailboxes.iter().any(is_named) {
        return Err(Unread::failed(
            "the names in reports are concealed; turn that off in the admin center under Settings, Org settings, Reports",
        ));
    }
    Ok(mailboxes)
}
