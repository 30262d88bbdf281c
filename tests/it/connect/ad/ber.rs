//! BER and LDAP messages: what is written is read, and any bytes are answered with an error at most.

use posture::connect::ad::{
    AnswerBody, MESSAGE_BYTES_MAX, Reader, decode, element, header, integer,
};
use proptest::collection::vec;
use proptest::prelude::*;

use super::server::{Row, bound, done, message, notice, page, reference};

/// With a length of four bytes, as servers of Microsoft write it.
fn long(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).unwrap().to_be_bytes();
    [&[tag, 0x84], &length[..], content].concat()
}

proptest! {
    #[test]
    fn an_element_is_read_as_it_was_written(
        tag in 0_u8..0x1f,
        content in vec(any::<u8>(), 0..70_000),
        rest in vec(any::<u8>(), 0..4),
    ) {
        for written in [element(tag, &[&content]), long(tag, &content)] {
            let whole = [&written[..], &rest].concat();
            let mut reader = Reader::new(&whole);
            prop_assert_eq!(reader.element(), Ok((tag, &content[..])));
            prop_assert_eq!(reader.is_empty(), rest.is_empty());
            let (n_header, n_content) = header(&written).unwrap().unwrap();
            prop_assert_eq!((n_header + n_content, n_content), (written.len(), content.len()));
            prop_assert!(n_header <= 6);
            prop_assert!(Reader::new(&written[..written.len() - 1]).element().is_err());
        }
    }

    #[test]
    fn an_integer_is_read_as_it_was_written(value in any::<i32>()) {
        let written = integer(2, value);
        prop_assert_eq!(Reader::new(&written).integer(2), Ok(value));
        let shortest = (1..=4).find(|n| {
            let bits = 8 * n - 1;
            bits == 31 || (-(1_i64 << bits)..1_i64 << bits).contains(&i64::from(value))
        });
        prop_assert_eq!(Some(written.len() - 2), shortest);
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in vec(any::<u8>(), 0..400)) {
        drop(decode(&bytes));
        let _ = header(&bytes);
        let mut reader = Reader::new(&bytes);
        while !reader.is_empty() && reader.element().is_ok() {}
    }

    /// Near what is right, so that deep parts are reached.
    #[test]
    fn a_message_with_changed_bytes_is_read_without_a_panic(
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        which in any::<prop::sample::Index>(),
        n_kept in any::<prop::sample::Index>(),
    ) {
        let row = Row::new("CN=a").with("objectSid", [1, 1, 0, 0]).with("member", "CN=b");
        let all = [row.encode(7), page(7, "next"), bound(1, 49, "data 52e"), done(7, 4), reference(7), notice()];
        let mut bytes = which.get(&all).clone();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        drop(decode(&bytes));
        drop(decode(&bytes[..n_kept.index(bytes.len())]));
    }

    #[test]
    fn an_entry_is_read_as_it_was_written(
        dn in "[^\0]{0,40}",
        attributes in prop::collection::btree_map("[a-z;=0-9-]{1,20}", vec(vec(any::<u8>(), 0..40), 0..5), 0..8),
        id in 1..i32::MAX,
    ) {
        let row = Row { dn: dn.clone(), attributes: attributes.clone() };
        let answer = decode(&row.encode(id)).unwrap();
        prop_assert_eq!((answer.id, answer.cookie), (id, None));
        let AnswerBody::Entry(entry) = answer.body else { panic!("it is an entry") };
        prop_assert_eq!((entry.dn, entry.attributes), (dn, attributes));
    }
}

#[test]
fn a_page_has_its_cookie() {
    assert_eq!(decode(&page(3, "next")).unwrap().cookie.as_deref(), Some(&b"next"[..]));
    assert_eq!(decode(&page(3, "")).unwrap().cookie.as_deref(), Some(&b""[..]));
    assert_eq!(decode(&done(3, 0)).unwrap().cookie, None);
}

#[test]
fn forms_that_ldap_does_not_use_are_refused() {
    for (bytes, why) in [
        (&[0x1f, 0x81, 0x01, 0x00][..], "a tag has more than one byte"),
        (&[0x30, 0x80, 0, 0], "a length is indefinite"),
        (&[0x30, 0x85, 0, 0, 0, 0, 0], "a length is indefinite, or has more than 4 bytes"),
        (&[0x30, 0x84, 0x00, 0x40, 0x00, 0x01], "more than 4 MiB"),
    ] {
        let error = header(bytes).unwrap_err();
        assert!(error.to_string().contains(why), "{bytes:x?}: {error}");
    }
    assert_eq!(header(&[0x30, 0x84, 0x00, 0x40, 0x00, 0x00]), Ok(Some((6, MESSAGE_BYTES_MAX))));
    for bytes in [&[][..], &[0x30], &[0x30, 0x84, 0, 0, 0]] {
        assert_eq!(header(bytes), Ok(None), "more bytes are needed");
    }
    assert!(Reader::new(&[2, 0]).integer(2).is_err());
    assert!(Reader::new(&[2, 5, 0, 0, 0, 0, 1]).integer(2).is_err());
    assert_eq!(Reader::new(&[2, 4, 0, 0, 0, 1]).integer(2), Ok(1), "leading zeros are right");
    let twice = [done(1, 0), done(1, 0)].concat();
    assert!(decode(&twice).is_err(), "bytes follow");
    assert!(decode(&message(1, &element(0x77, &[b""]))).is_err(), "a request");
    let values: Vec<Vec<u8>> = vec![Vec::new(); 20_001];
    let row = Row::new("CN=a").with_all("member", values[1..].to_vec());
    assert!(decode(&row.encode(1)).is_ok());
    assert!(decode(&Row::new("CN=a").with_all("member", values).encode(1)).is_err());
    let wide = |n: usize| (0..n).fold(Row::new("CN=a"), |row, it| row.with(&format!("a{it}"), ""));
    assert!(decode(&wide(256).encode(1)).is_ok() && decode(&wide(257).encode(1)).is_err());
    let double = Row::new("CN=a").with("a", "").with("A", "");
    assert!(decode(&double.encode(1)).is_err(), "an attribute twice");
}
