//! Lists that come as several answers in one file, one after the other, each with a part of the items.

/// What has been read of such lists.
#[derive(Default)]
pub(super) struct Pages {
    n_items: usize,
    /// Items before the answer that is read.
    n_before: usize,
    /// Of the answer that is read: how many items its list has.
    n_total: Option<usize>,
    n_answers: usize,
    /// The list of which items are missing so far.
    open: Option<Missing>,
}

/// A list of which the file has a part.
#[derive(Clone, Copy)]
pub(super) struct Missing {
    pub(super) n_read: usize,
    pub(super) n_total: usize,
}

impl Pages {
    pub(super) fn add_item(&mut self) {
        self.n_items += 1;
    }

    /// Takes the number of items that the list has, as the answer says it.
    pub(super) fn take_total(&mut self, text: &str) {
        self.n_total = text.parse().ok();
    }

    /// Takes note of the end of an answer.
    ///
    /// # Errors
    /// The list that goes on, if the answer begins another one.
    pub(super) fn end(&mut self) -> Result<(), Missing> {
        let n_here = self.n_items - self.n_before;
        self.n_before = self.n_items;
        let Some(n_total) = self.n_total.take() else { return Ok(()) };
        self.n_answers += 1;
        let n_read = match self.open {
            Some(open) if open.n_total != n_total => return Err(open),
            Some(open) => open.n_read + n_here,
            None => n_here,
        };
        self.open = (n_read < n_total).then_some(Missing { n_read, n_total });
        Ok(())
    }

    /// # Errors
    /// The list of which items are missing at the end of the file.
    pub(super) fn finish(&self) -> Result<(), Missing> {
        self.open.map_or(Ok(()), Err)
    }

    /// Returns true if the file has neither an item nor an answer.
    pub(super) fn is_empty(&self) -> bool {
        self.n_answers == 0 && self.n_items == 0
    }
}
