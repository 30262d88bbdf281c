//! LDAP messages (RFC 4511): requests as bytes, and what servers answer.

use std::collections::BTreeMap;

use super::ber::{
    BOOLEAN, ENUMERATED, INTEGER, Malformed, OCTETS, Reader, SEQUENCE, SET, element, integer,
};
use super::filter::Filter;

/// More attributes of one entry are refused.
const N_ATTRIBUTES_MAX: usize = 256;
/// More values of one attribute in one message are refused. Servers send at most 5,000.
const N_VALUES_MAX: usize = 20_000;

const VERSION: i32 = 3;
const BIND_REQUEST: u8 = 0x60;
const BIND_RESPONSE: u8 = 0x61;
const UNBIND_REQUEST: u8 = 0x42;
const SEARCH_REQUEST: u8 = 0x63;
const SEARCH_ENTRY: u8 = 0x64;
const SEARCH_DONE: u8 = 0x65;
const SEARCH_REFERENCE: u8 = 0x73;
const EXTENDED_RESPONSE: u8 = 0x78;
const SIMPLE: u8 = 0x80;
const CONTROLS: u8 = 0xa0;
/// RFC 2696.
const PAGED_RESULTS: &[u8] = b"1.2.840.113556.1.4.319";
/// The server gives up on a search after this. Ours is the deadline of the connection.
const SEARCH_LIMIT_S: i32 = 120;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// The object itself.
    Base,
    /// The object and all below.
    Subtree,
}

#[derive(Clone, Debug)]
pub(super) struct Search<'a> {
    pub(super) base: &'a str,
    pub(super) depth: Depth,
    pub(super) filter: Filter,
    pub(super) attributes: &'a [&'a str],
}

fn request(id: i32, operation: &[u8], controls: &[u8]) -> Vec<u8> {
    element(SEQUENCE, &[&integer(INTEGER, id)[..], operation, controls])
}

pub(super) fn bind(id: i32, user: &str, password: &str) -> Vec<u8> {
    let parts = [integer(INTEGER, VERSION), element(OCTETS, &[user]), element(SIMPLE, &[password])];
    request(id, &element(BIND_REQUEST, &parts), &[])
}

pub(super) fn unbind(id: i32) -> Vec<u8> {
    request(id, &element(UNBIND_REQUEST, &[b""]), &[])
}

/// Asks for the object itself; of a whole subtree, for a page of at most `n_rows`: the first, or the one that the cookie of
/// the page before leads to.
pub(super) fn search(id: i32, search: &Search<'_>, n_rows: i32, cookie: &[u8]) -> Vec<u8> {
    let depth = match search.depth {
        Depth::Base => 0,
        Depth::Subtree => 2,
    };
    let attributes: Vec<_> = search.attributes.iter().map(|it| element(OCTETS, &[it])).collect();
    let parts = [
        element(OCTETS, &[search.base]),
        integer(ENUMERATED, depth),
        integer(ENUMERATED, 0), // Aliases are not followed.
        integer(INTEGER, 0),    // No limit of rows.
        integer(INTEGER, SEARCH_LIMIT_S),
        element(BOOLEAN, &[[0]]), // Values, too.
        search.filter.encode(),
        element(SEQUENCE, &attributes),
    ];
    let operation = element(SEARCH_REQUEST, &parts);
    if search.depth == Depth::Base {
        return request(id, &operation, &[]);
    }
    let page = element(SEQUENCE, &[integer(INTEGER, n_rows), element(OCTETS, &[cookie])]);
    let control = [
        element(OCTETS, &[PAGED_RESULTS]),
        element(BOOLEAN, &[[0xff]]), // Critical: a server that cannot page says so.
        element(OCTETS, &[page]),
    ];
    let controls = element(CONTROLS, &[element(SEQUENCE, &control)]);
    request(id, &operation, &controls)
}

/// What a server sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Of the request. 0: of none.
    pub id: i32,
    pub body: AnswerBody,
    /// With which the next page is asked for. `None`: the message has none. Empty: there is no other page.
    pub cookie: Option<Vec<u8>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerBody {
    Bound(Outcome),
    Entry(Entry),
    /// To another server. Nothing follows it.
    Reference,
    Done(Outcome),
    /// Of something that was not asked for: the server closes the connection.
    Notice(Outcome),
}

/// How an operation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// 0: well.
    pub code: i32,
    pub text: String,
}

/// An object with the attributes that were asked for and can be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    pub dn: String,
    /// By name in lower case.
    pub attributes: BTreeMap<String, Vec<Vec<u8>>>,
}

/// Reads one message. Takes any bytes.
///
/// # Errors
/// If it is not a message of LDAP that a server may send.
pub fn decode(bytes: &[u8]) -> Result<Answer, Malformed> {
    let mut outer = Reader::new(bytes);
    let mut message = Reader::new(outer.expect(SEQUENCE)?);
    if !outer.is_empty() {
        return Err(Malformed("bytes follow a message"));
    }
    let id = message.integer(INTEGER)?;
    let (tag, content) = message.element()?;
    let body = match tag {
        BIND_RESPONSE => AnswerBody::Bound(outcome(content)?),
        SEARCH_ENTRY => AnswerBody::Entry(entry(content)?),
        SEARCH_REFERENCE => AnswerBody::Reference,
        SEARCH_DONE => AnswerBody::Done(outcome(content)?),
        EXTENDED_RESPONSE => AnswerBody::Notice(outcome(content)?),
        _ => return Err(Malformed("a message is of an unknown kind")),
    };
    let controls = message.find(CONTROLS)?;
    let cookie = controls.map(cookie).transpose()?.flatten();
    Ok(Answer { id, body, cookie })
}

/// What may follow the text (referrals, the end of another kind of bind) is not used.
fn outcome(content: &[u8]) -> Result<Outcome, Malformed> {
    let mut content = Reader::new(content);
    let code = content.integer(ENUMERATED)?;
    content.expect(OCTETS)?; // The part of the name that exists.
    let text = String::from_utf8_lossy(content.expect(OCTETS)?);
    // Servers end it with a zero byte.
    Ok(Outcome { code, text: text.trim_end_matches('\0').to_owned() })
}

fn entry(content: &[u8]) -> Result<Entry, Malformed> {
    let mut content = Reader::new(content);
    let dn = text(content.expect(OCTETS)?)?;
    let mut list = Reader::new(content.expect(SEQUENCE)?);
    let mut attributes = BTreeMap::new();
    while !list.is_empty() {
        let mut attribute = Reader::new(list.expect(SEQUENCE)?);
        let name = text(attribute.expect(OCTETS)?)?.to_ascii_lowercase();
        let mut set = Reader::new(attribute.expect(SET)?);
        let mut values = Vec::new();
        while !set.is_empty() {
            values.push(set.expect(OCTETS)?.to_vec());
            if N_VALUES_MAX < values.len() {
                return Err(Malformed("an attribute has too many values"));
            }
        }
        if attributes.insert(name, values).is_some() {
            return Err(Malformed("an entry has an attribute twice"));
        }
        if N_ATTRIBUTES_MAX < attributes.len() {
            return Err(Malformed("an entry has too many attributes"));
        }
    }
    Ok(Entry { dn, attributes })
}

fn text(bytes: &[u8]) -> Result<String, Malformed> {
    str::from_utf8(bytes).map(str::to_owned).map_err(|_| Malformed("a name is not UTF-8"))
}

fn cookie(content: &[u8]) -> Result<Option<Vec<u8>>, Malformed> {
    let mut controls = Reader::new(content);
    while !controls.is_empty() {
        let mut control = Reader::new(controls.expect(SEQUENCE)?);
        let oid = control.expect(OCTETS)?;
        control.find(BOOLEAN)?;
        let value = control.find(OCTETS)?;
        if oid == PAGED_RESULTS {
            let mut value = Reader::new(value.ok_or(Malformed("a page has no cookie"))?);
            let mut page = Reader::new(value.expect(SEQUENCE)?);
            page.integer(INTEGER)?; // An estimate of all rows, or 0.
            return Ok(Some(page.expect(OCTETS)?.to_vec()));
        }
    }
    Ok(None)
}
