//! What common relays answer when they refuse, and what to do.

use super::trouble::MailTrouble;

/// Of a refusal that many meet: what an answer has, and what to do.
pub(super) struct Refusal {
    /// How it begins: the code, or fewer digits where relays differ. In lower case, as the words.
    start: &'static str,
    /// All of them are in the answer.
    words: &'static [&'static str],
    pub(super) trouble: MailTrouble,
    pub(super) advice: &'static str,
}

const fn refusal(
    start: &'static str,
    words: &'static [&'static str],
    trouble: MailTrouble,
    advice: &'static str,
) -> Refusal {
    Refusal { start, words, trouble, advice }
}

const NAME: &str = "set mail.greeting_name to the name of this machine in the public DNS";
const APP_PASSWORD: &str = "Google takes no password of an account here: make an app password (it needs 2-Step \
     Verification) and write it to mail.password_file, or use the SMTP relay service, \
     smtp-relay.gmail.com";
const ALLOWED_ADDRESS: &str = "enter the public address of this machine at the relay (Google: SMTP relay service; \
     Exchange Online: the connector), or set mail.user and a login";
const SMTP_AUTH: &str = "allow it with Set-CASMailbox -SmtpClientAuthenticationDisabled $false for the mailbox, and log in with \
     mail.login = \"microsoft_app\": Exchange Online gives passwords up";
const SEND_AS: &str =
    "set mail.from to the mailbox that logs in, or grant it SendAs with Add-RecipientPermission";
const VERIFY_SENDER: &str =
    "verify the address or the domain of mail.from at the relay, or set mail.from to one that is";
const NO_RELAY: &str = "it does not relay for this machine: set mail.user and mail.password_file, or allow the \
     address of this machine there";
const QUOTA: &str = "the limit of the account is used up; raise it there, or spread the schedules";
const BLOCKED: &str =
    "the address of this machine is on a block list: send through the relay of your mail provider";

/// The first that fits counts.
static REFUSALS: &[Refusal] = &[
    // Names of the service.
    refusal(
        "421",
        &["(ehlo)"],
        MailTrouble::Greeting,
        "set mail.greeting_name to the name of this machine in the public DNS, and enter its public address at the relay \
         (Google: SMTP relay service)",
    ),
    refusal("5", &["helo"], MailTrouble::Greeting, NAME),
    refusal("5", &["ehlo", "invalid"], MailTrouble::Greeting, NAME),
    refusal("501", &["invalid domain name"], MailTrouble::Greeting, NAME),
    // TLS.
    refusal("530", &["starttls"], MailTrouble::Tls, "set mail.tls to \"starttls\""),
    // Google.
    refusal("535", &["username and password not accepted"], MailTrouble::Login, APP_PASSWORD),
    refusal("534", &["5.7.9 "], MailTrouble::Login, APP_PASSWORD),
    refusal("534", &["5.7.14"], MailTrouble::Login, APP_PASSWORD),
    refusal("550", &["mail relay denied"], MailTrouble::Login, ALLOWED_ADDRESS),
    refusal("550", &["invalid credentials for relay"], MailTrouble::Login, ALLOWED_ADDRESS),
    refusal("550", &["5.4.5 "], MailTrouble::Later, QUOTA),
    // Exchange Online.
    refusal(
        "535",
        &["5.7.139", "smtpclientauthentication is disabled"],
        MailTrouble::Login,
        SMTP_AUTH,
    ),
    refusal("535", &["5.7.139", "basic authentication is disabled"], MailTrouble::Login, SMTP_AUTH),
    refusal(
        "535",
        &["5.7.139", "security defaults"],
        MailTrouble::Login,
        "security defaults of the tenant forbid passwords here: set mail.login to \"microsoft_app\"",
    ),
    refusal(
        "535",
        &["5.7.139"],
        MailTrouble::Login,
        "check mail.user and mail.password_file, and that no Conditional Access policy blocks SMTP; better set mail.login to \
         \"microsoft_app\"",
    ),
    refusal(
        "530",
        &["5.7.57 "],
        MailTrouble::Login,
        "set mail.login to \"microsoft_app\", or send without a login through a connector: mail.server is then \
         TENANT.mail.protection.outlook.com:25",
    ),
    refusal("550", &["permissions to send as this sender"], MailTrouble::Sender, SEND_AS),
    refusal("5", &["sendasdenied"], MailTrouble::Sender, SEND_AS),
    refusal("550", &["5.7.64 "], MailTrouble::Login, ALLOWED_ADDRESS),
    refusal(
        "550",
        &["5.7.68 "],
        MailTrouble::Login,
        "the tenant rejects mail without a login or a connector: make a connector for the address of this machine, or set \
         mail.login to \"microsoft_app\"",
    ),
    refusal(
        "550",
        &["5.7.708"],
        MailTrouble::Refused,
        "Microsoft takes no mail from the tenant or this address yet, as from new trial tenants: assign a paid license, or ask \
         Microsoft to lift it",
    ),
    refusal(
        "451",
        &["4.7.500"],
        MailTrouble::Later,
        "Exchange Online slows this address down: make a connector for it, or set mail.login to \"microsoft_app\"",
    ),
    refusal(
        "432",
        &["4.3.2 "],
        MailTrouble::Later,
        "other programs use the mailbox at the same time: give the service one of its own",
    ),
    // Amazon SES, SendGrid, Postmark, Mailgun.
    refusal(
        "554",
        &["not verified"],
        MailTrouble::Sender,
        "verify the domain of mail.from in SES, in the region of mail.server; in the sandbox each recipient too",
    ),
    refusal(
        "535 authentication credentials invalid",
        &[],
        MailTrouble::Login,
        "mail.user and the password must be SMTP credentials of SES of this region, not an access key",
    ),
    refusal("454", &["throttling failure"], MailTrouble::Later, QUOTA),
    refusal("550", &["verified sender identity"], MailTrouble::Sender, VERIFY_SENDER),
    refusal(
        "535",
        &["bad username / password"],
        MailTrouble::Login,
        "mail.user must be the word apikey and the password an API key that may send mail",
    ),
    refusal("4", &["maximum credits exceeded"], MailTrouble::Later, QUOTA),
    refusal(
        "406",
        &["inactive"],
        MailTrouble::Recipient,
        "the address bounced before: activate it again at the relay, or remove it",
    ),
    refusal("4", &["sender signature"], MailTrouble::Sender, VERIFY_SENDER),
    refusal(
        "421",
        &["not allowed to send"],
        MailTrouble::Sender,
        "send from a domain of your own that is verified at the relay; a sandbox takes authorized recipients only",
    ),
    // Mail servers of any kind.
    refusal("55", &["relay", "denied"], MailTrouble::Login, NO_RELAY),
    refusal("55", &["banned sending ip"], MailTrouble::Refused, BLOCKED),
    refusal("55", &["blocked using"], MailTrouble::Refused, BLOCKED),
];

/// `answer`: its code and its words.
pub(super) fn find(answer: &str) -> Option<&'static Refusal> {
    let answer = answer.to_lowercase();
    let fits = |it: &&Refusal| {
        answer.starts_with(it.start) && it.words.iter().all(|word| answer.contains(word))
    };
    REFUSALS.iter().find(fits)
}
