//! The kinds of failures.

/// The kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailTrouble {
    /// The server cannot be reached, or does not answer in time.
    Unreachable,
    /// There is no TLS connection that can be trusted.
    Tls,
    /// The server does not accept what the service calls itself.
    Greeting,
    /// The server does not accept the user and the password, or there is no token to log in with.
    Login,
    /// The server does not accept the sender.
    Sender,
    /// The server does not accept the recipient.
    Recipient,
    /// The server asks to try again later, as one does that greylists.
    Later,
    TooLarge,
    /// The server does not accept the message.
    Refused,
    /// There is no message: the report cannot be made.
    Report,
}

impl MailTrouble {
    pub const ALL: [Self; 10] = [
        Self::Unreachable,
        Self::Tls,
        Self::Greeting,
        Self::Login,
        Self::Sender,
        Self::Recipient,
        Self::Later,
        Self::TooLarge,
        Self::Refused,
        Self::Report,
    ];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Tls => "tls",
            Self::Greeting => "greeting",
            Self::Login => "login",
            Self::Sender => "sender",
            Self::Recipient => "recipient",
            Self::Later => "later",
            Self::TooLarge => "too_large",
            Self::Refused => "refused",
            Self::Report => "report",
        }
    }

    /// Whether another attempt may succeed. What an operator can mend counts: nobody has to send again by hand then.
    #[must_use]
    pub const fn is_temporary(self) -> bool {
        match self {
            Self::Unreachable | Self::Tls | Self::Greeting | Self::Login | Self::Later => true,
            Self::Sender | Self::Recipient | Self::TooLarge | Self::Refused | Self::Report => false,
        }
    }
}
