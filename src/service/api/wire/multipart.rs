//! A form with one file (`multipart/form-data`), as it is on disk.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use crate::error::{Error, Result};
use crate::text;

/// The headers of the file are within so much of the start.
const HEAD_BYTES_MAX: usize = 8 << 10;
/// Longer boundaries are refused, as their definition asks for.
const BOUNDARY_BYTES_MAX: usize = 70;
/// Longer names of files are cut.
const NAME_CHARS_MAX: usize = 200;
/// The name of the field.
const FIELD: &str = "file";

/// The file of a form.
#[derive(Debug, PartialEq, Eq)]
pub struct FormFile {
    /// The name that the sender gave it.
    pub name: String,
    /// Where its bytes are in the form.
    pub content: Range<u64>,
}

/// What separates the parts of a form.
///
/// # Errors
/// `UnsupportedMediaType` if the content type is not that of a form with files.
pub fn boundary(content_type: &str) -> Result<String> {
    let refused = || {
        Error::unsupported_media_type(
            "send multipart/form-data with the findings in the field `file`, as `prowler --push-to-cloud` does",
        )
    };
    let mut parts = parameters(content_type);
    let is_form = parts.next().is_some_and(|it| it.0.eq_ignore_ascii_case("multipart/form-data"));
    let boundary = parts.find(|it| it.0.eq_ignore_ascii_case("boundary")).map(|it| it.1);
    let is_sound = |it: &String| {
        (1..=BOUNDARY_BYTES_MAX).contains(&it.len()) && it.bytes().all(|it| it.is_ascii_graphic())
    };
    boundary.filter(|it| is_form && is_sound(it)).ok_or_else(refused)
}

/// Finds the file in a form of `n_bytes`. It must be the form's only part.
///
/// # Errors
/// `Invalid` if it is not there, or if the form is not complete; `Unavailable` if it cannot be read.
pub fn find_file(form: &File, n_bytes: u64, boundary: &str) -> Result<FormFile> {
    let read = |from: u64, n_max: usize| {
        let n = usize::try_from(n_bytes - from).unwrap_or(usize::MAX).min(n_max);
        let mut bytes = vec![0; n];
        form.read_exact_at(&mut bytes, from).map(|()| bytes).map_err(unreadable)
    };
    let head = read(0, HEAD_BYTES_MAX)?;
    let start = format!("--{boundary}\r\n");
    let (name, at) = file_name(&head, start.as_bytes())?;
    let end = format!("\r\n--{boundary}--");
    let tail = read(n_bytes.saturating_sub(end.len() as u64 + 2), end.len() + 2)?;
    let whole = tail.strip_suffix(b"\r\n").filter(|it| it.ends_with(end.as_bytes()));
    let whole = whole.unwrap_or(&tail);
    let is_complete = whole.ends_with(end.as_bytes());
    let n_after = (tail.len() - whole.len() + end.len()) as u64;
    let until = n_bytes.checked_sub(n_after).filter(|until| at <= *until && is_complete);
    let until = until.ok_or_else(|| Error::invalid("the form is truncated; send it again"))?;
    Ok(FormFile { name, content: at..until })
}

/// The name of the file in the first part, and where its bytes begin.
fn file_name(head: &[u8], start: &[u8]) -> Result<(String, u64)> {
    let broken = |what: &str| Error::invalid(format!("the form is invalid: {what}"));
    let headers = head.strip_prefix(start);
    let headers = headers.ok_or_else(|| broken("it does not start with its boundary"))?;
    let n_headers = headers.windows(4).position(|it| it == b"\r\n\r\n");
    let n_headers = n_headers.ok_or_else(|| broken("the headers of its part have no end"))?;
    let headers = str::from_utf8(&headers[..n_headers])
        .map_err(|_| broken("the headers of its part are not UTF-8"))?;
    let disposition = headers.split("\r\n").find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.trim().eq_ignore_ascii_case("content-disposition").then_some(value)
    });
    let parameters: Vec<(String, String)> = parameters(disposition.unwrap_or_default()).collect();
    let find = |name: &str| parameters.iter().find(|it| it.0.eq_ignore_ascii_case(name));
    match (find("name"), find("filename")) {
        (Some(field), Some(name)) if field.1 == FIELD => {
            let at = (start.len() + n_headers + 4) as u64;
            Ok((text::line(&name.1, NAME_CHARS_MAX), at))
        }
        (Some(_) | None, Some(_) | None) => {
            Err(Error::invalid_field(FIELD, "must be the first field of the form, and a file"))
        }
    }
}

/// The parts of a header's value: its word, then names with values.
fn parameters(value: &str) -> impl Iterator<Item = (String, String)> {
    let mut is_quoted = false;
    let parts = value.split(move |it: char| {
        is_quoted ^= it == '"';
        it == ';' && !is_quoted
    });
    parts.map(|part| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        (name.trim().to_owned(), value.trim().trim_matches('"').to_owned())
    })
}

fn unreadable(error: io::Error) -> Error {
    Error::unavailable("the upload cannot be read; try again later").caused_by(error)
}
