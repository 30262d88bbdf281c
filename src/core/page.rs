//! A page of a longer list.

/// Rows asked for when the caller does not say.
pub const LIMIT_DEFAULT: u32 = 50;
/// More rows than this in one page are refused.
pub const LIMIT_MAX: u32 = 100;

/// As [`LIMIT_MAX`], for lists of all clients that programs pull.
pub const PULL_LIMIT_MAX: u32 = 1_000;
/// The same for those whose rows are small.
pub const SMALL_PULL_LIMIT_MAX: u32 = 5_000;

/// Which rows of a list are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cut {
    /// 1 to [`LIMIT_MAX`].
    pub limit: u32,
    pub offset: u64,
}

/// Some rows of a list, and how many the whole list has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// Rows of the whole filtered list.
    pub total: u64,
    pub cut: Cut,
}

impl<T> Page<T> {
    /// Cuts a page out of a whole list.
    pub fn of(all: impl ExactSizeIterator<Item = T>, cut: Cut) -> Self {
        let total = all.len() as u64;
        let skip = usize::try_from(cut.offset).unwrap_or(usize::MAX);
        let items = all.skip(skip).take(cut.limit as usize).collect();
        Self { items, total, cut }
    }

    pub fn map<U>(self, show: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(show).collect(), total: self.total, cut: self.cut }
    }
}

/// Rows of a list from a cursor on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch<T> {
    pub items: Vec<T>,
    /// Where the list continues. `None`: these are the last rows.
    pub next: Option<String>,
}

impl<T> Stretch<T> {
    /// `found`: one row more than `limit` if the list continues. `cursor` names a row, to continue after it.
    pub fn of(mut found: Vec<T>, limit: u32, cursor: impl FnOnce(&T) -> String) -> Self {
        let limit = limit as usize;
        let continues = limit < found.len();
        found.truncate(limit);
        let next = found.last().filter(|_| continues).map(cursor);
        Self { items: found, next }
    }

    pub fn map<U>(self, show: impl FnMut(T) -> U) -> Stretch<U> {
        Stretch { items: self.items.into_iter().map(show).collect(), next: self.next }
    }
}
