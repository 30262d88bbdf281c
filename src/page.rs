//! A page of a longer list.

/// Rows asked for when the caller does not say.
pub const LIMIT_DEFAULT: u32 = 50;
/// More rows than this in one page are refused.
pub const LIMIT_MAX: u32 = 100;

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
