//! The evidence for controls: which observations count, what each shows, and what of the client nobody looked at.

pub(super) mod claim;
pub(super) mod current;
pub(super) mod estate;
pub(super) mod fraction;
pub(super) mod left;
pub(super) mod part;
pub(super) mod place;
pub(super) mod share;
pub(super) mod sight;
pub(super) mod stated;
pub(super) mod subject;
mod unseen;
