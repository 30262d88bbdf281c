//! What relays answer when they refuse, and what is said to do.

use posture::mail::{MailLogin, MailOptions};
use serde_json::Value;

use super::relay::Relay;
use super::{options, test_mail};
use crate::harness::Posture;

/// Where in the conversation, the answer, the kind of the failure, and what the advice has.
const REFUSALS: &[(&str, &str, &str, &str)] = &[
    // The greeting.
    (
        "EHLO",
        "421-4.7.0 Try again later, closing connection. (EHLO)\n421 4.7.0 For more information, go to the help page",
        "greeting",
        "set mail.greeting_name",
    ),
    (
        "EHLO",
        "504 5.5.2 <[127.0.0.1]>: Helo command rejected: need fully-qualified hostname",
        "greeting",
        "set mail.greeting_name",
    ),
    (
        "RCPT",
        "504 5.5.2 <posture>: Helo command rejected: need fully-qualified hostname",
        "greeting",
        "refused the greeting",
    ),
    ("EHLO", "501 5.5.4 Invalid domain name", "greeting", "set mail.greeting_name"),
    ("EHLO", "550 Access denied - Invalid EHLO name", "greeting", "set mail.greeting_name"),
    (
        "BANNER",
        "421 4.3.2 Service not available, closing transmission channel",
        "later",
        "asks to try again later: 421 4.3.2",
    ),
    (
        "BANNER",
        "421 Service not available",
        "later",
        "asks to try again later: 421 Service not available",
    ),
    (
        "BANNER",
        "554 5.7.1 No SMTP service here",
        "unreachable",
        "refused the connection: 554 5.7.1",
    ),
    // TLS.
    (
        "MAIL",
        "530 5.7.0 Must issue a STARTTLS command first.",
        "tls",
        "set mail.tls to \"starttls\"",
    ),
    // Google.
    (
        "AUTH",
        "535-5.7.8 Username and Password not accepted. For more information, go to\n535 5.7.8  https://support.google.com/mail/?p=BadCredentials",
        "login",
        "app password",
    ),
    (
        "AUTH",
        "534-5.7.9 Application-specific password required. For more information, go to\n534 5.7.9  https://support.google.com/mail/?p=InvalidSecondFactor",
        "login",
        "app password",
    ),
    (
        "AUTH",
        "534-5.7.14 <https://accounts.google.com/signin/continue?x> Please log in via\n534 5.7.14 your web browser and then try again.",
        "login",
        "app password",
    ),
    (
        "MAIL",
        "550 5.7.0 Mail relay denied [192.0.2.1]. Invalid credentials for relay",
        "login",
        "enter the public address",
    ),
    (
        "MAIL",
        "550-5.7.1 Invalid credentials for relay [192.0.2.1]. The IP address you've\n550 5.7.1 registered in your Workspace SMTP Relay service doesn't match domain of the account.",
        "login",
        "enter the public address",
    ),
    ("RCPT", "550 5.4.5 Daily user sending limit exceeded.", "later", "the limit of the account"),
    // Exchange Online.
    (
        "AUTH",
        "535 5.7.139 Authentication unsuccessful, SmtpClientAuthentication is disabled for the Tenant. Visit https://aka.ms/smtp_auth_disabled",
        "login",
        "Set-CASMailbox",
    ),
    (
        "AUTH",
        "535 5.7.139 Authentication unsuccessful, SmtpClientAuthentication is disabled for the Mailbox.",
        "login",
        "mail.login = \"microsoft_app\"",
    ),
    (
        "AUTH",
        "535 5.7.139 Authentication unsuccessful, basic authentication is disabled.",
        "login",
        "mail.login = \"microsoft_app\"",
    ),
    (
        "AUTH",
        "535 5.7.139 Authentication unsuccessful, user is locked by your organization's security defaults policy.",
        "login",
        "security defaults",
    ),
    (
        "AUTH",
        "535 5.7.139 Authentication unsuccessful, the user credentials were incorrect.",
        "login",
        "check mail.user and mail.password_file",
    ),
    (
        "AUTH",
        "535 5.7.3 Authentication unsuccessful",
        "login",
        "check mail.user and mail.password_file",
    ),
    (
        "MAIL",
        "530 5.7.57 Client not authenticated to send mail.",
        "login",
        "mail.protection.outlook.com:25",
    ),
    (
        "BODY",
        "550 5.7.60 SMTP; Client does not have permissions to send as this sender",
        "sender",
        "Add-RecipientPermission",
    ),
    (
        "BODY",
        "554 5.2.252 SendAsDenied; a@b.example not allowed to send as c@b.example",
        "sender",
        "Add-RecipientPermission",
    ),
    (
        "RCPT",
        "550 5.7.64 TenantAttribution; Relay Access Denied [x.outlook.com]",
        "login",
        "Exchange Online: the connector",
    ),
    (
        "RCPT",
        "550 5.7.68 TenantInboundAttribution; Direct Send not allowed for this organization from unauthorized sources",
        "login",
        "make a connector",
    ),
    (
        "BODY",
        "550 5.7.708 Service unavailable. Access denied, traffic not accepted from this IP.",
        "refused",
        "trial tenants",
    ),
    (
        "RCPT",
        "550 5.7.606 Access denied, banned sending IP [192.0.2.1]",
        "refused",
        "on a block list",
    ),
    (
        "BODY",
        "451 4.7.500 Server busy. Please try again later from [192.0.2.1].",
        "later",
        "make a connector",
    ),
    ("BODY", "432 4.3.2 Concurrent connections limit exceeded.", "later", "one of its own"),
    // Amazon SES.
    (
        "BODY",
        "554 Message rejected: Email address is not verified. The following identities failed the check in region US-EAST-1: a@b.example",
        "sender",
        "in SES",
    ),
    ("AUTH", "535 Authentication Credentials Invalid", "login", "SMTP credentials of SES"),
    (
        "BODY",
        "454 Throttling failure: Daily message quota exceeded.",
        "later",
        "the limit of the account",
    ),
    // SendGrid.
    (
        "BODY",
        "550 The from address does not match a verified Sender Identity. Mail cannot be sent until this error is resolved.",
        "sender",
        "verify the address",
    ),
    ("AUTH", "535 Authentication failed: Bad username / password", "login", "the word apikey"),
    (
        "AUTH",
        "451 Authentication failed: Maximum credits exceeded",
        "later",
        "the limit of the account",
    ),
    // Postmark.
    (
        "RCPT",
        "406 You tried to send to a recipient that has been marked as inactive.",
        "recipient",
        "activate it again",
    ),
    (
        "MAIL",
        "400 The 'From' address you supplied is not a Sender Signature on your account.",
        "sender",
        "verify the address",
    ),
    // Mailgun.
    (
        "BODY",
        "421 Domain sandbox1.mailgun.org is not allowed to send: Sandbox subdomains are for test purposes only.",
        "sender",
        "authorized recipients",
    ),
    // Mail servers of any kind.
    (
        "AUTH",
        "535 5.7.8 Error: authentication failed: UGFzc3dvcmQ6",
        "login",
        "check mail.user and mail.password_file",
    ),
    ("MAIL", "530 5.7.0 Authentication required", "login", "set mail.user and mail.password_file"),
    (
        "MAIL",
        "553 5.7.1 <a@b.example>: Sender address rejected: not owned by user x",
        "sender",
        "set mail.from",
    ),
    (
        "RCPT",
        "554 5.7.1 <ada@example.com>: Relay access denied",
        "login",
        "it does not relay for this machine",
    ),
    ("RCPT", "550 5.7.1 Relaying denied", "login", "it does not relay for this machine"),
    (
        "RCPT",
        "554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org",
        "refused",
        "on a block list",
    ),
    ("RCPT", "550 5.1.1 Hello, no such user here", "recipient", "correct or remove the address"),
    ("RCPT", "450 4.2.0 Greylisted", "later", "asks to try again later: 450 4.2.0 Greylisted"),
    ("BODY", "552 5.3.4 Message size exceeds fixed limit", "too_large", "raise its limit"),
    ("BODY", "554 5.7.1 Spam", "refused", "refused the message: 554 5.7.1 Spam"),
];

#[test]
fn what_a_relay_refuses_is_said_with_what_to_do() {
    let relay = Relay::start();
    let login = MailLogin::Password { user: "u".to_owned(), password: "canary".to_owned() };
    let mail = MailOptions { login: Some(login), ..options(relay.port()) };
    let posture = Posture::start_with(move |it| it.app.mail = Some(mail));
    assert_eq!(test_mail(&posture)["delivered"], true);
    assert_eq!(relay.lines()[0], "EHLO posture.northwind.example");
    for (verb, answer, kind, advice) in REFUSALS {
        relay.answer(verb, answer);
        let tested = test_mail(&posture);
        assert_eq!(
            (&tested["delivered"], &tested["kind"]),
            (&Value::Bool(false), &Value::from(*kind)),
            "{answer}: {tested}"
        );
        let said = tested["message"].as_str().unwrap();
        assert!(said.contains(advice), "{answer}: {said}");
        assert!(said.contains(&answer[..3]) && !said.contains("canary"), "{said}");
    }
}
