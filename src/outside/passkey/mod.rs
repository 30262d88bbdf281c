//! Passkeys: the ceremonies of Web Authentication by which one is made, and by which its holder proves to be there.
//!
//! What a browser answers is believed once its challenge, its origin, its signature and its counter are right, and the device
//! verified the user. Between the question and the answer nothing is kept here: the caller keeps the bytes.

mod ceremony;
mod site;

pub use ceremony::{Answer, Fault, Holder, NewKey, Question, STATE_BYTES, ask, ask_for_new, make};
pub use site::Site;
