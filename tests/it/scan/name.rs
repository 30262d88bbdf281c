//! Answers of name servers: what is a name, and what no server can do by sending bytes.

use posture::scan::{name_of, question};
use proptest::collection::vec;
use proptest::prelude::*;

const ID: u16 = 0x1234;
const PTR: u16 = 12;
const CNAME: u16 = 5;

fn wire(labels: &[&[u8]]) -> Vec<u8> {
    let mut name = Vec::new();
    for label in labels {
        name.push(label.len().try_into().unwrap());
        name.extend_from_slice(label);
    }
    name.push(0);
    name
}

/// A response to the question for 192.0.2.7, whose name is at offset 12. A record's own name points there.
fn response(flags: u16, records: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let n = u16::try_from(records.len()).unwrap();
    let mut packet: Vec<u8> =
        [ID, flags, 1, n, 0, 0].into_iter().flat_map(u16::to_be_bytes).collect();
    packet.extend(wire(&[b"7", b"2", b"0", b"192", b"in-addr", b"arpa"]));
    packet.extend([0, 12, 0, 1]);
    for (kind, data) in records {
        packet.extend([0xc0, 12]);
        packet.extend(kind.to_be_bytes());
        packet.extend([0, 1, 0, 0, 0, 60]);
        packet.extend(u16::try_from(data.len()).unwrap().to_be_bytes());
        packet.extend(data);
    }
    packet
}

fn told(data: Vec<u8>) -> Option<String> {
    name_of(ID, &response(0x8180, &[(PTR, data)]))
}

#[test]
fn a_question_names_the_address_backwards() {
    let reverse = [b"7", b"2", b"0", &b"192"[..], b"in-addr", b"arpa"];
    let expected =
        [&[0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0][..], &wire(&reverse), &[0, 12, 0, 1]];
    assert_eq!(question(ID, "192.0.2.7".parse().unwrap()).unwrap(), expected.concat());
    let packet = question(ID, "2001:db8::5f".parse().unwrap()).unwrap();
    let nibbles = "f.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa";
    let labels: Vec<&[u8]> = nibbles.split('.').map(str::as_bytes).collect();
    assert_eq!(packet[12..packet.len() - 4], wire(&labels));
}

#[test]
fn the_first_pointer_of_an_answer_is_the_name_in_lower_case() {
    let name = || wire(&[b"NAS-1", b"Example", b"org"]);
    assert_eq!(told(name()).as_deref(), Some("nas-1.example.org"));
    assert_eq!(told(wire(&[b"_x", b"y"])).as_deref(), Some("_x.y"));
    assert_eq!(told(vec![3, b'n', b'a', b's', 0xc0, 22]).as_deref(), Some("nas.in-addr.arpa"));
    let alias = (CNAME, wire(&[b"7", b"sub", b"arpa"]));
    let both = response(0x8180, &[alias, (PTR, name()), (PTR, wire(&[b"other"]))]);
    assert_eq!(name_of(ID, &both).as_deref(), Some("nas-1.example.org"));
}

#[test]
fn what_is_not_an_answer_with_a_plain_name_has_none() {
    let name = || (PTR, wire(&[b"nas"]));
    assert_eq!(name_of(ID + 1, &response(0x8180, &[name()])), None, "another question's");
    assert_eq!(name_of(ID, &response(0x0100, &[name()])), None, "a question");
    assert_eq!(name_of(ID, &response(0x8183, &[name()])), None, "no such name");
    assert_eq!(name_of(ID, &response(0x8180, &[])), None);
    assert_eq!(name_of(ID, &response(0x8180, &[(1, vec![192, 0, 2, 7])])), None);
    for label in ["evil\u{1b}[2J", "a.b", "é", "a b"] {
        assert_eq!(told(wire(&[label.as_bytes(), b"org"])), None, "{label:?}");
    }
    assert_eq!(told(wire(&[])), None, "the root");
}

#[test]
fn no_packet_loops_or_takes_memory() {
    let start = u8::try_from(response(0x8180, &[(PTR, Vec::new())]).len()).unwrap();
    for data in
        [vec![0xc0, start], vec![1, b'a', 0xc0, start], vec![0xff, 0xff], vec![0x40], vec![64]]
    {
        assert_eq!(told(data.clone()), None, "{data:?}");
    }
    assert_eq!(told([[63; 64].repeat(5), vec![0]].concat()), None, "longer than a name may be");
    let whole = response(0x8180, &[(PTR, wire(&[b"nas"]))]);
    for n_bytes in 0..whole.len() {
        assert_eq!(name_of(ID, &whole[..n_bytes]), None, "cut at {n_bytes}");
    }
    for at in [6, 8, 10] {
        let mut many = whole.clone();
        many[at..at + 2].copy_from_slice(&[0xff, 0xff]);
        assert_eq!(name_of(ID, &many), None, "more records than it can hold");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_an_answer_or_none(changes in vec((0..64_usize, any::<u8>()), 0..8), tail in vec(any::<u8>(), 0..64)) {
        let mut packet = response(0x8180, &[(PTR, wire(&[b"nas", b"example"])), (41, tail)]);
        for (at, byte) in changes {
            packet[at] = byte;
        }
        if let Some(name) = name_of(ID, &packet) {
            prop_assert!(!name.is_empty() && name.len() <= 253);
            prop_assert!(name.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_.".contains(&it)));
        }
    }
}
