//! The newest entries of a log, with what to say if there are more.

use serde_json::Value;

use crate::cli::print;
use crate::error::Result;

/// How many of the newest entries a list shows.
pub(super) struct Newest {
    pub(super) limit: u32,
    /// The API returns at most this many at once.
    pub(super) limit_max: u32,
    /// Options that shorten the list.
    pub(super) narrowed_by: &'static str,
}

impl Newest {
    /// One entry more than is shown, to find out whether there are more.
    pub(super) fn limit_and_one(&self) -> u32 {
        if (1..self.limit_max).contains(&self.limit) { self.limit + 1 } else { self.limit }
    }

    /// Prints the entries, oldest first, as a table. `answer`: what the API found with [`Newest::limit_and_one`].
    pub(super) fn show(
        &self,
        answer: &Value,
        texts: (&str, &[&str]),
        cells: impl Fn(&Value) -> Vec<String>,
    ) -> Result<()> {
        let Self { limit, limit_max, narrowed_by } = self;
        let found = print::rows(&answer["data"]);
        let n_older = found.len().saturating_sub(*limit as usize);
        print::list(false, &found[n_older..], texts, cells)?;
        if n_older != 0 {
            return print::line(&format!("these are the last {limit}; --limit shows more"));
        }
        if limit == limit_max && found.len() == *limit as usize {
            return print::line(&format!(
                "at most {limit} are listed; narrow the list with {narrowed_by}"
            ));
        }
        Ok(())
    }
}
