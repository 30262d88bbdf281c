//! A message before it is sent.

use std::time::{Duration, UNIX_EPOCH};

use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Attachment as Attached, Mailbox, MultiPart, SinglePart};
use lettre::{Address, Message};

use crate::clock::Time;
use crate::error::{Error, Result};
use crate::text::line;

/// A longer message is not sent: many servers refuse one.
pub const MESSAGE_BYTES_MAX: usize = 25 * 1024 * 1024;
const SUBJECT_CHARS_MAX: usize = 200;

/// A message.
#[derive(Clone, Debug)]
pub struct Letter {
    /// The part of its Message-ID before the `@`. A message that is sent again keeps it, so that receivers can tell.
    pub id: String,
    /// If there are several, the message does not name them.
    pub to: Vec<String>,
    pub subject: String,
    pub text: String,
    pub attachment: Option<Attachment>,
    pub at: Time,
}

/// A PDF file.
#[derive(Clone, Debug)]
pub struct Attachment {
    pub name: String,
    pub content: Vec<u8>,
}

impl Letter {
    /// The bytes that go over the wire.
    ///
    /// # Errors
    /// `Invalid` if an address is none; `TooLarge` if it is longer than [`MESSAGE_BYTES_MAX`].
    pub(super) fn bytes(&self, from: &Mailbox) -> Result<Vec<u8>> {
        let micros = u64::try_from(self.at.micros()).unwrap_or(0);
        let auto = HeaderName::new_from_ascii_str("Auto-Submitted");
        let mut message = Message::builder()
            .from(from.clone())
            .subject(line(&self.subject, SUBJECT_CHARS_MAX))
            .date(UNIX_EPOCH + Duration::from_micros(micros))
            .message_id(Some(format!("<{}@{}>", self.id, from.email.domain())))
            .raw_header(HeaderValue::new(auto, "auto-generated".to_owned()));
        let read = |it: &String| {
            let address = it.parse();
            address.map_err(|_| Error::invalid(format!("{it} is not an address")))
        };
        let mut to = self.to.iter().map(read).collect::<Result<Vec<Address>>>()?;
        // Several recipients do not see each other: the server is told who they are, and the message does not say so.
        message = message.to(match (to.pop(), to.is_empty()) {
            (Some(only), true) => Mailbox::new(None, only),
            _ => from.clone(),
        });
        let text = SinglePart::plain(self.text.clone());
        let message = match &self.attachment {
            None => message.singlepart(text),
            Some(Attachment { name, content }) => {
                let kind = ContentType::parse("application/pdf").map_err(Error::internal)?;
                let file = Attached::new(name.clone()).body(content.clone(), kind);
                message.multipart(MultiPart::mixed().singlepart(text).singlepart(file))
            }
        };
        let bytes = message.map_err(Error::internal)?.formatted();
        if MESSAGE_BYTES_MAX < bytes.len() {
            let mib = MESSAGE_BYTES_MAX / 1024 / 1024;
            return Err(Error::too_large(format!("the message is larger than {mib} MiB")));
        }
        Ok(bytes)
    }
}
