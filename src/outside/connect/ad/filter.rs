//! The filters of searches.

use super::ber::{OCTETS, element};

const AND: u8 = 0xa0;
const OR: u8 = 0xa1;
const EQUAL: u8 = 0xa3;
const PRESENT: u8 = 0x87;
const EXTENSIBLE: u8 = 0xa9;
const RULE: u8 = 0x81;
const ATTRIBUTE: u8 = 0x82;
const VALUE: u8 = 0x83;
/// Matches through any number of links: members of members.
const IN_CHAIN: &str = "1.2.840.113556.1.4.1941";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Filter {
    All(Vec<Self>),
    Any(Vec<Self>),
    Equal(&'static str, Vec<u8>),
    Present(&'static str),
    /// The attribute holds the object with this name, or one that leads to it by the same attribute.
    Chain(&'static str, String),
}

impl Filter {
    pub(super) fn equal(attribute: &'static str, value: &str) -> Self {
        Self::Equal(attribute, value.as_bytes().to_vec())
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let all = |of: &[Self]| -> Vec<Vec<u8>> { of.iter().map(Self::encode).collect() };
        match self {
            Self::All(of) => element(AND, &all(of)),
            Self::Any(of) => element(OR, &all(of)),
            Self::Equal(attribute, value) => {
                let parts = [element(OCTETS, &[attribute]), element(OCTETS, &[value])];
                element(EQUAL, &parts)
            }
            Self::Present(attribute) => element(PRESENT, &[attribute]),
            Self::Chain(attribute, name) => {
                let parts = [
                    element(RULE, &[IN_CHAIN]),
                    element(ATTRIBUTE, &[attribute]),
                    element(VALUE, &[name]),
                ];
                element(EXTENSIBLE, &parts)
            }
        }
    }
}
