//! Compressed files.

use std::io::{BufReader, Cursor, Read};

use posture::blocking::Cancellation;
use posture::error::{Code, Error};
use posture::import::unpack::{self, Fault, Packing};

/// Read of a file: a small one can unpack to much.
const BYTES_MAX: u64 = 1 << 20;

/// Any bytes unpack to the same bytes however they arrive, or are refused with a reason.
pub fn unpack(bytes: &[u8]) {
    let Some(packing) = unpack::detect(bytes) else { return };
    match packing {
        Packing::Stream(packing) => {
            let at_once = |n| {
                let fault = Fault::default();
                let packed = BufReader::with_capacity(n, bytes);
                let mut out = Vec::new();
                let read =
                    unpack::stream(packing, packed, &fault).take(BYTES_MAX).read_to_end(&mut out);
                if read.is_err() {
                    is_refused(&fault.take().expect("the reason"));
                    return None; // How much was read before does not matter.
                }
                Some(out)
            };
            assert_eq!(at_once(8 << 10), at_once(7), "in small pieces");
        }
        Packing::Zip => match unpack::open(Cursor::new(bytes), &Cancellation::default()) {
            Ok(archive) => {
                let (fault, mut out) = (Fault::default(), Vec::new());
                match archive.unpacked(&fault) {
                    Ok(file) => {
                        if file.take(BYTES_MAX).read_to_end(&mut out).is_err() {
                            is_refused(&fault.take().expect("the reason"));
                        }
                    }
                    Err(error) => is_refused(&error),
                }
            }
            Err(error) => is_refused(&error),
        },
    }
}

fn is_refused(error: &Error) {
    assert!(matches!(error.code, Code::Invalid | Code::TooLarge), "{error}");
    assert!(!error.message().is_empty());
}
