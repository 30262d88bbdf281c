//! Splits a stream of JSON into its records: the elements of one array, or consecutive objects. Some tools wrap the array
//! in an object.
//!
//! It only finds where records end and leaves their content to the reader of the format: one invalid record does not affect
//! the others, and only one is in memory at a time.

use std::io::BufRead;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::text::OrSkipped;
use super::{RECORD_BYTES_MAX, unreadable};
use crate::error::{Error, Result};

/// One record, as it is in the file.
pub(super) enum JsonItem<'a> {
    Text(&'a [u8]),
    /// Longer than [`RECORD_BYTES_MAX`].
    TooLong,
}

impl<'a> JsonItem<'a> {
    /// # Errors
    /// The reason why it is not a valid record.
    pub(super) fn parse<T: Deserialize<'a>>(&self) -> OrSkipped<T> {
        let text = match self {
            Self::TooLong => {
                return Err(format!("record longer than {} MiB", RECORD_BYTES_MAX >> 20));
            }
            Self::Text(text) => text,
        };
        serde_json::from_slice(text).map_err(|error| {
            let reason = if error.is_data() { "not a finding" } else { "invalid JSON" };
            reason.to_owned()
        })
    }
}

/// Hands out each record with its number, from 1.
///
/// # Errors
/// `Invalid` when the file ends early, continues after its end, or is not a JSON array or object.
pub(super) fn each(
    input: &mut dyn BufRead,
    record: &mut dyn FnMut(u64, JsonItem) -> Result<()>,
) -> Result<()> {
    each_within(&[], input, record)
}

/// [`each`], also of the array that is the first member of an object that starts with one of `wrappers`, apart from spaces.
///
/// # Errors
/// As there.
pub(super) fn each_within(
    wrappers: &'static [&'static str],
    input: &mut dyn BufRead,
    record: &mut dyn FnMut(u64, JsonItem) -> Result<()>,
) -> Result<()> {
    let mut splitter = Splitter { wrappers, ..Splitter::default() };
    loop {
        let chunk = input.fill_buf().map_err(unreadable)?;
        if chunk.is_empty() {
            return splitter.end();
        }
        let n_bytes = chunk.len();
        splitter.take(chunk, record)?;
        input.consume(n_bytes);
    }
}

/// Where in the file the next byte is.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum JsonPlace {
    /// Before the first bracket or brace.
    #[default]
    Start,
    /// In the array: before, in or after a record.
    Array,
    /// After the end of the array.
    AfterArray,
    /// Between consecutive objects.
    Between,
    /// In such an object.
    Object,
    /// At the beginning of an object that may wrap an array.
    Opening,
    /// In such an object, after its array.
    Closing,
}

/// Whether the next byte belongs to a string.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Quote {
    #[default]
    Outside,
    Inside,
    /// Inside, after a backslash.
    Escaped,
}

#[derive(Default)]
struct Splitter {
    /// How objects start that wrap an array, without spaces.
    wrappers: &'static [&'static str],
    /// The current array is in an object.
    is_wrapped: bool,
    place: JsonPlace,
    /// Bytes of the file before the current chunk.
    n_before: u64,
    /// Records begun so far.
    n_records: u64,
    /// Where the current record begins, in bytes from the file's start.
    record_at: u64,
    record: Vec<u8>,
    too_long: bool,
    /// Braces and brackets open inside the current record.
    depth: u32,
    quote: Quote,
    /// The current element of the array follows a comma.
    after_comma: bool,
}

impl Splitter {
    fn take(
        &mut self,
        chunk: &[u8],
        record: &mut dyn FnMut(u64, JsonItem) -> Result<()>,
    ) -> Result<()> {
        let mut at = 0;
        while at < chunk.len() {
            at = match self.place {
                JsonPlace::Start | JsonPlace::Between | JsonPlace::AfterArray => {
                    self.outside(chunk, at)?
                }
                JsonPlace::Array => self.array(chunk, at, record)?,
                JsonPlace::Object => self.object(chunk, at, record)?,
                JsonPlace::Opening => self.opening(chunk, at, record)?,
                JsonPlace::Closing => self.closing(chunk, at)?,
            };
        }
        self.n_before += chunk.len() as u64;
        Ok(())
    }

    /// Takes one byte outside of records.
    fn outside(&mut self, chunk: &[u8], at: usize) -> Result<usize> {
        let byte = chunk[at];
        let offset = self.n_before + at as u64;
        match (self.place, byte) {
            (_, b' ' | b'\t' | b'\r' | b'\n') => {}
            (JsonPlace::Start, b'[') => {
                self.place = JsonPlace::Array;
                self.begin(offset + 1);
            }
            (JsonPlace::Start | JsonPlace::Between, b'{') => {
                let is_plain = self.wrappers.is_empty();
                self.place = if is_plain { JsonPlace::Object } else { JsonPlace::Opening };
                self.begin(offset);
                return Ok(at);
            }
            (JsonPlace::AfterArray, b'[' | b'{' | b',') => return Err(appended(offset)),
            (JsonPlace::Start, _) => {
                return Err(Error::invalid("not JSON: the file does not start with [ or {"));
            }
            (
                JsonPlace::AfterArray
                | JsonPlace::Between
                | JsonPlace::Array
                | JsonPlace::Object
                | JsonPlace::Opening
                | JsonPlace::Closing,
                _,
            ) => return Err(self.unexpected(offset)),
        }
        Ok(at + 1)
    }

    /// Takes the rest of the current element of the array, and the comma or bracket after it.
    fn array(
        &mut self,
        chunk: &[u8],
        at: usize,
        record: &mut dyn FnMut(u64, JsonItem) -> Result<()>,
    ) -> Result<usize> {
        let end = self.scan(&chunk[at..], |depth, byte| depth == 0 && matches!(byte, b',' | b']'));
        let Some(end) = end else {
            self.keep(&chunk[at..]);
            return Ok(chunk.len());
        };
        let end = at + end;
        self.keep(&chunk[at..end]);
        let last = chunk[end] == b']';
        let empty = !self.too_long && self.record.trim_ascii().is_empty();
        if !(empty && last && !self.after_comma) {
            self.hand_out(record)?;
        }
        self.begin(self.n_before + end as u64 + 1);
        self.after_comma = true;
        if last && self.is_wrapped {
            self.place = JsonPlace::Closing;
            self.depth = 1;
            self.record.extend_from_slice(b"{\"\":0");
        } else if last {
            self.place = JsonPlace::AfterArray;
        }
        Ok(end + 1)
    }

    /// Takes one byte of the beginning of an object, which turns out to wrap an array or to be a record.
    fn opening(
        &mut self,
        chunk: &[u8],
        at: usize,
        record: &mut dyn FnMut(u64, JsonItem) -> Result<()>,
    ) -> Result<usize> {
        if self.quote == Quote::Inside || !chunk[at].is_ascii_whitespace() {
            self.record.push(chunk[at]);
        }
        if chunk[at] == b'"' {
            let ends = self.quote == Quote::Inside;
            self.quote = if ends { Quote::Outside } else { Quote::Inside };
        }
        let so_far = self.record.as_slice();
        if self.wrappers.iter().any(|it| it.as_bytes() == so_far) {
            self.begin(self.n_before + at as u64 + 1);
            (self.place, self.is_wrapped, self.after_comma) = (JsonPlace::Array, true, false);
        } else if !self.wrappers.iter().any(|it| it.as_bytes().starts_with(so_far)) {
            let start = std::mem::take(&mut self.record);
            (self.place, self.quote) = (JsonPlace::Object, Quote::Outside);
            self.object(&start, 0, record)?;
        }
        Ok(at + 1)
    }

    /// Takes the rest of an object after the array that it wraps.
    fn closing(&mut self, chunk: &[u8], at: usize) -> Result<usize> {
        let Some(end) = self.keep_to_close(chunk, at) else { return Ok(chunk.len()) };
        if self.too_long || serde_json::from_slice::<IgnoredAny>(&self.record).is_err() {
            return Err(self.unexpected(self.record_at));
        }
        (self.place, self.is_wrapped) = (JsonPlace::Between, false);
        Ok(end)
    }

    fn unexpected(&self, offset: u64) -> Error {
        Error::invalid(format!(
            "invalid JSON at byte {offset}: expected a record or the end of the file after record {}; export the report \
             again",
            self.n_records
        ))
    }

    /// Takes the rest of the current object.
    fn object(
        &mut self,
        chunk: &[u8],
        at: usize,
        record: &mut dyn FnMut(u64, JsonItem) -> Result<()>,
    ) -> Result<usize> {
        let Some(end) = self.keep_to_close(chunk, at) else { return Ok(chunk.len()) };
        self.hand_out(record)?;
        self.place = JsonPlace::Between;
        Ok(end)
    }

    /// Keeps what is left of the current object, or of this piece of it. Returns where the object ends. `None`: later.
    fn keep_to_close(&mut self, chunk: &[u8], at: usize) -> Option<usize> {
        let last = self.scan(&chunk[at..], |depth, byte| depth == 1 && matches!(byte, b'}' | b']'));
        let end = last.map(|it| at + it + 1);
        self.keep(&chunk[at..end.unwrap_or(chunk.len())]);
        end
    }

    /// Position of the first byte outside of strings for which `is_end` says so, given the depth
    /// before that byte.
    fn scan(&mut self, bytes: &[u8], is_end: impl Fn(u32, u8) -> bool) -> Option<usize> {
        let mut at = 0;
        while at < bytes.len() {
            match self.quote {
                Quote::Outside => {}
                Quote::Inside => {
                    at += bytes[at..].iter().position(|it| matches!(it, b'"' | b'\\'))? + 1;
                    let quoted = bytes[at - 1] == b'"';
                    self.quote = if quoted { Quote::Outside } else { Quote::Escaped };
                    continue;
                }
                Quote::Escaped => {
                    self.quote = Quote::Inside;
                    at += 1;
                    continue;
                }
            }
            let byte = bytes[at];
            if is_end(self.depth, byte) {
                return Some(at);
            }
            match byte {
                b'"' => self.quote = Quote::Inside,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            at += 1;
        }
        None
    }

    fn begin(&mut self, offset: u64) {
        self.record_at = offset;
        self.record.clear();
        self.too_long = false;
        self.depth = 0;
        self.quote = Quote::Outside;
    }

    fn keep(&mut self, bytes: &[u8]) {
        if RECORD_BYTES_MAX < self.record.len() + bytes.len() {
            self.too_long = true;
        } else if !self.too_long {
            self.record.extend_from_slice(bytes);
        }
    }

    fn hand_out(&mut self, record: &mut dyn FnMut(u64, JsonItem) -> Result<()>) -> Result<()> {
        self.n_records += 1;
        let item = if self.too_long { JsonItem::TooLong } else { JsonItem::Text(&self.record) };
        record(self.n_records, item)
    }

    /// # Errors
    /// `Invalid` unless the file may end here.
    fn end(&self) -> Result<()> {
        match self.place {
            JsonPlace::AfterArray | JsonPlace::Between => Ok(()),
            JsonPlace::Start => Err(Error::invalid("not JSON: the file contains only whitespace")),
            JsonPlace::Array | JsonPlace::Object | JsonPlace::Opening | JsonPlace::Closing => {
                Err(Error::invalid(format!(
                    "the file is truncated: it ends at byte {} in or before record {}, which starts at byte {}; let the tool \
                 finish, or copy the file again",
                    self.n_before,
                    self.n_records + 1,
                    self.record_at
                )))
            }
        }
    }
}

fn appended(offset: u64) -> Error {
    Error::invalid(format!(
        "the file contains more than one run (the second starts at byte {offset}): Prowler appends to an existing output \
         file; delete the file and run Prowler again, or use another output name (-F)"
    ))
}
