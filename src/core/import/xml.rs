//! Reports that are one XML document: read as a stream, with bounds on what the reader collects.

use std::borrow::Cow;
use std::io::BufRead;

use quick_xml::events::attributes::Attribute;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::ration::{Ration, unread};
use super::text;
use crate::error::{Error, Result};

/// Elements nested deeper are refused. Reports of the known tools nest two dozen.
const DEPTH_MAX: usize = 64;
/// Elements with longer names are refused.
const NAME_BYTES_MAX: usize = 200;
/// The characters that XML itself names.
const NAMED: [(&str, &str); 5] =
    [("amp", "&"), ("lt", "<"), ("gt", ">"), ("quot", "\""), ("apos", "'")];

/// What comes next in a document. Names of elements are local: without the prefix of their namespace.
pub(super) enum Node<'a> {
    /// The last name of the path is that of this tag.
    Open(&'a Tag<'a>),
    /// A part of the text of the element that the path names.
    Text(&'a str),
    /// The path still has its name.
    Close,
}

pub(super) struct Tag<'a>(&'a BytesStart<'a>);

impl Tag<'_> {
    /// An attribute by its local name. Empty: the tag does not have it.
    pub(super) fn attribute(&self, name: &str) -> String {
        let found = self.0.attributes().flatten().find(|it| local(it.key.as_ref()) == name);
        found.as_ref().map_or_else(String::new, value)
    }
}

/// The value of an attribute. One with a reference that XML does not define stays as it is written.
pub(super) fn value(attribute: &Attribute<'_>) -> String {
    let value = attribute.normalized_value(XmlVersion::Implicit1_0);
    value.map_or_else(|_| attribute.value.to_string(), Cow::into_owned)
}

/// Walks through a document to the end of its root.
///
/// `what`: whose report it should be.
///
/// # Errors
/// `Invalid` if it is truncated, invalid, too deep, or defines entities. Whatever `visit` returns.
pub(super) fn walk(
    input: &mut dyn BufRead,
    what: &str,
    visit: &mut dyn FnMut(&[&str], Node<'_>) -> Result<()>,
) -> Result<()> {
    let mut reader = Reader::from_reader(Ration::new(input));
    let (mut path, mut buffer) = (Vec::<String>::new(), Vec::new());
    loop {
        buffer.clear();
        reader.get_mut().renew();
        let event = match reader.read_event_into(&mut buffer) {
            Ok(event) => event,
            Err(error) => return Err(broken(error, reader.error_position())),
        };
        let here: Vec<&str> = path.iter().map(String::as_str).collect();
        match event {
            Event::Start(tag) => {
                let name = checked(&tag, &path, what)?;
                visit(&[&here[..], &[&*name]].concat(), Node::Open(&Tag(&tag)))?;
                path.push(name);
            }
            Event::Empty(tag) => {
                let name = checked(&tag, &path, what)?;
                let here = [&here[..], &[&*name]].concat();
                visit(&here, Node::Open(&Tag(&tag)))?;
                visit(&here, Node::Close)?;
                if path.is_empty() {
                    return Ok(());
                }
            }
            Event::End(_) => {
                visit(&here, Node::Close)?;
                path.pop();
                if path.is_empty() {
                    return Ok(());
                }
            }
            Event::Text(text) => visit(&here, Node::Text(&text))?,
            Event::CData(text) => visit(&here, Node::Text(&text))?,
            Event::DocType(text) if text.contains('[') => {
                return Err(not_a_report(what, "the XML defines its own entities"));
            }
            Event::GeneralRef(name) => visit(&here, Node::Text(&character(&name)))?,
            Event::Eof => {
                return Err(Error::invalid(
                    "the file is truncated: the report has no end; copy the file again",
                ));
            }
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => (),
        }
    }
}

fn checked(tag: &BytesStart<'_>, path: &[String], what: &str) -> Result<String> {
    let name = tag.name();
    let name = name.as_ref();
    if NAME_BYTES_MAX < name.len() {
        return Err(not_a_report(what, "a name of an XML element is too long"));
    }
    if DEPTH_MAX <= path.len() {
        return Err(not_a_report(what, "XML elements are nested too deeply"));
    }
    Ok(local(name).to_owned())
}

fn local(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |it| it.1)
}

/// What a reference stands for, such as `amp` or `#xA0`. Empty: nothing that XML itself defines.
fn character(name: &str) -> String {
    let number = name.strip_prefix('#').and_then(|it| {
        let hex = it.strip_prefix('x').map(|it| u32::from_str_radix(it, 16));
        hex.unwrap_or_else(|| it.parse()).ok()
    });
    let named = NAMED.iter().find(|it| it.0 == name).map(|it| it.1.to_owned());
    named.or_else(|| number.and_then(char::from_u32).map(String::from)).unwrap_or_default()
}

fn broken(error: quick_xml::Error, offset: u64) -> Error {
    if let quick_xml::Error::Io(cause) = error {
        return unread(cause, offset);
    }
    let why = text::line(&error.to_string(), text::WHY_CHARS_MAX);
    Error::invalid(format!("invalid XML at byte {offset}: {why}; export the report again"))
}

pub(super) fn not_a_report(what: &str, why: &str) -> Error {
    Error::invalid(format!("not a report of {what}: {why}"))
}

/// Appends a text to another one that is kept up to a length.
pub(super) fn append(kept: &mut String, text: &str, n_bytes_max: usize) {
    let n_left = n_bytes_max.saturating_sub(kept.len());
    kept.extend(text.chars().take(n_left));
}
