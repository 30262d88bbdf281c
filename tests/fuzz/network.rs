//! What hosts of a network send to the scanner. A host can say anything; it is kept as bounded, printable text.

use posture::engine::network::scan::FoundPort;
use posture::scan::{hear, name_of, read_certificate};

/// The id of the question that the packets in `seeds/dns` answer.
const QUESTION: u16 = 0x1234;
const NAME_CHARS_MAX: usize = 255;
const BANNER_CHARS_MAX: usize = 512;
const N_NAMES_MAX: usize = 8;
const CERTIFICATE: &[u8] = include_bytes!("seeds/certificate/elliptic.der");
const CERTIFICATE_TEXT_CHARS_MAX: usize = 120;

pub fn dns(bytes: &[u8]) {
    let Some(name) = name_of(QUESTION, bytes) else { return };
    assert_eq!(bytes[..2], QUESTION.to_be_bytes(), "it answers this question");
    assert!(!name.is_empty() && name.len() <= NAME_CHARS_MAX, "{name}");
    let is_plain = |it: u8| matches!(it, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.');
    assert!(name.bytes().all(is_plain), "{name}");
    assert_eq!(name_of(!QUESTION, bytes), None, "it answers no other question");
}

/// The first two bytes are the number of the port.
pub fn banner(bytes: &[u8]) {
    let Some((number, said)) = bytes.split_first_chunk() else { return };
    let mut port = FoundPort {
        number: u16::from_be_bytes(*number),
        service: String::new(),
        banner: String::new(),
        is_identified: false,
        is_encrypted: false,
        certificate: None,
        tls: Vec::new(),
    };
    hear(&mut port, said);
    assert!(is_printable(&port.banner) && port.banner.len() <= BANNER_CHARS_MAX, "{port:?}");
    assert_eq!(port.is_identified, !port.service.is_empty(), "{port:?}");
    assert!(!port.is_identified || !port.banner.is_empty(), "{port:?}");
}

pub fn certificate(bytes: &[u8]) {
    let certificate = read_certificate(bytes);
    assert!(bytes != CERTIFICATE || certificate.is_some(), "the seed is a certificate");
    let Some(certificate) = certificate else { return };
    assert!(certificate.names.len() <= N_NAMES_MAX, "{certificate:?}");
    let texts = [&certificate.subject, &certificate.issuer];
    for text in texts.into_iter().chain(&certificate.names) {
        assert!(is_printable(text) && text.len() <= CERTIFICATE_TEXT_CHARS_MAX, "{text}");
    }
}

fn is_printable(text: &str) -> bool {
    text.bytes().all(|it| matches!(it, b' '..=b'~'))
}
