//! A small tree of an XML answer. Nothing outside the document is read, and its size is bounded.

use quick_xml::events::Event;
use quick_xml::{Reader, XmlVersion};

/// AWS nests about ten.
const DEPTH_MAX: usize = 32;
const N_ELEMENTS_MAX: usize = 500_000;

/// An element: its name without a prefix, its own text, and the elements in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Element {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) children: Vec<Element>,
}

impl Element {
    /// `None`: not a whole document, too deep or too large.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut reader = Reader::from_str(text);
        let mut open = vec![Self::default()];
        let mut n_elements = 0;
        loop {
            match reader.read_event().ok()? {
                Event::Start(tag) => {
                    n_elements += 1;
                    if DEPTH_MAX < open.len() || N_ELEMENTS_MAX < n_elements {
                        return None;
                    }
                    let name = tag.local_name();
                    let name = name.as_ref().to_owned();
                    open.push(Self { name, ..Self::default() });
                }
                Event::Empty(tag) => {
                    n_elements += 1;
                    let name = tag.local_name();
                    let name = name.as_ref().to_owned();
                    let child = Self { name, ..Self::default() };
                    open.last_mut().filter(|_| n_elements <= N_ELEMENTS_MAX)?.children.push(child);
                }
                Event::End(_) => {
                    let closed = open.pop()?;
                    let text = closed.text.trim().to_owned();
                    open.last_mut()?.children.push(Self { text, ..closed });
                }
                Event::Text(text) => {
                    open.last_mut()?.text += &text.xml_content(XmlVersion::Implicit1_0);
                }
                Event::CData(text) => {
                    open.last_mut()?.text += &text.xml_content(XmlVersion::Implicit1_0);
                }
                Event::GeneralRef(reference) => {
                    let character = match reference.resolve_char_ref().ok()? {
                        Some(character) => character,
                        None => named(&reference.xml_content(XmlVersion::Implicit1_0))?,
                    };
                    open.last_mut()?.text.push(character);
                }
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
                // A document type could name entities.
                Event::DocType(_) => return None,
                Event::Eof => break,
            }
        }
        let top = open.pop().filter(|_| open.is_empty())?;
        let [root]: [Self; 1] = top.children.try_into().ok()?;
        Some(root)
    }

    pub(super) fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|it| it.name == name)
    }

    pub(super) fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |it, name| it.child(name))
    }

    pub(super) fn text_of(&self, name: &str) -> Option<&str> {
        self.child(name).map(|it| it.text.as_str())
    }

    /// Some services write `true`, others `TRUE`.
    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        self.text_of(name)?.to_ascii_lowercase().parse().ok()
    }

    /// The items of a list. Empty if it is absent, as AWS leaves out what is empty.
    pub(super) fn items(&self, list: &str) -> &[Self] {
        self.child(list).map_or(&[], |it| &it.children)
    }
}

fn named(entity: &str) -> Option<char> {
    match entity {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => None,
    }
}
