//! The request that a task answers: the id under which its answer and its log lines can be found, and which operation it
//! is.

use std::cell::Cell;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::ops::Deref;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// A caller's own id may be this long.
pub const ID_CHARS_MAX: usize = 64;

tokio::task_local! {
    static CURRENT: Current;
}

struct Current {
    id: RequestId,
    operation: Cell<Option<usize>>,
}

/// Letters, digits, `.`, `_` and `-`; never empty. It is no secret.
#[derive(Clone, Copy)]
pub struct RequestId {
    /// ASCII.
    bytes: [u8; ID_CHARS_MAX],
    length: usize,
}

impl RequestId {
    /// The id that a caller gives. `None` if it is no id.
    #[must_use]
    pub fn given(text: &[u8]) -> Option<Self> {
        let fits = |it: &u8| it.is_ascii_alphanumeric() || b"._-".contains(it);
        if text.is_empty() || ID_CHARS_MAX < text.len() || !text.iter().all(fits) {
            return None;
        }
        let mut bytes = [0; ID_CHARS_MAX];
        bytes[..text.len()].copy_from_slice(text);
        Some(Self { bytes, length: text.len() })
    }

    /// A new one of 16 hexadecimal digits, which this process made for no other request.
    #[must_use]
    pub fn fresh() -> Self {
        static SEED: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(()));
        static N_MADE: AtomicU64 = AtomicU64::new(0);
        let n = N_MADE.fetch_add(1, Ordering::Relaxed);
        let mixed = mixed(SEED.wrapping_add(n.wrapping_mul(STEP)));
        let (mut bytes, length) = ([0; ID_CHARS_MAX], 16);
        hex::encode_to_slice(mixed.to_be_bytes(), &mut bytes[..length])
            .expect("two digits for each of eight bytes");
        Self { bytes, length }
    }
}

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The last step of `SplitMix64`: no two numbers have the same result, and neighbors look nothing alike, so that ids do not
/// say how many requests there are.
const fn mixed(n: u64) -> u64 {
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

impl Deref for RequestId {
    type Target = str;

    fn deref(&self) -> &str {
        str::from_utf8(&self.bytes[..self.length]).expect("an id is ASCII")
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

/// On an answer: what refused the request has noted it for the audit log.
#[derive(Clone, Copy, Debug)]
pub struct Noted;

/// Answers a request: while `answer` runs, [`id`] is this one.
pub fn answering<T>(id: RequestId, answer: impl Future<Output = T>) -> impl Future<Output = T> {
    CURRENT.scope(Current { id, operation: Cell::new(None) }, answer)
}

/// The id of the request that the current task answers, for the field `request_id` of a log line. `None` for work of the
/// service itself, and on threads that block.
#[must_use]
pub fn id() -> Option<RequestId> {
    CURRENT.try_with(|it| it.id).ok()
}

/// Notes the number of the operation that the current task answers.
pub fn note_operation(number: usize) {
    // A command without a server answers its own requests, and counts none.
    let _ = CURRENT.try_with(|it| it.operation.set(Some(number)));
}

/// The operation that was noted. `None` until then.
#[must_use]
pub fn operation() -> Option<usize> {
    CURRENT.try_with(|it| it.operation.get()).ok().flatten()
}
