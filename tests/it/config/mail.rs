//! The mail server: what the service calls itself there, and how it logs in.

use posture::config::LoginConfig;

use super::{read, refused};

#[test]
fn the_service_calls_itself_by_a_name_that_a_mail_server_can_look_up() {
    for (server, name) in [
        ("", "b.example"),
        ("public_url = \"https://Posture.example.com:8443\"", "posture.example.com"),
        ("public_url = \"http://localhost:8080\"", "b.example"),
        ("public_url = \"http://127.0.0.1:8080\"", "b.example"),
        ("public_url = \"https://[2001:db8::1]\"", "b.example"),
        ("public_url = \"https://my_host.example.com\"", "b.example"),
    ] {
        let mail = "[mail]\nserver = \"smtp.example.com:587\"\nfrom = \"A <a@b.example>\"\n";
        let options = read(&format!("[server]\n{server}\n{mail}"));
        assert_eq!(options.mail.unwrap().greeting_name, name, "{server}");
        // The mailbox that is sent from is the one of the sender.
        let app = format!("{mail}login = \"microsoft_app\"\n");
        let mailbox = |text: &str| match read(text).mail.unwrap().login {
            Some(LoginConfig::MicrosoftApp { user }) => user,
            other => panic!("{other:?}"),
        };
        assert_eq!(mailbox(&app), "a@b.example");
        assert_eq!(mailbox(&format!("{app}user = \"c@b.example\"\n")), "c@b.example");
    }
}

#[test]
fn a_user_logs_in_with_the_password_of_a_file() {
    let mail = "[mail]\nserver = \"smtp.example.com:587\"\nfrom = \"a@b.example\"\n";
    assert_eq!(read(mail).mail.unwrap().login, None);
    let login = LoginConfig::Password { user: "u".to_owned(), file: "p".into() };
    let options = read(&format!("{mail}user = \"u\"\npassword_file = \"p\"\n"));
    assert_eq!(options.mail.unwrap().login, Some(login));
}

#[test]
fn a_name_that_nobody_can_look_up_and_a_password_beside_a_token_are_refused() {
    for (text, said) in [
        (
            "[mail]\nlogin = \"microsoft_app\"\npassword_file = \"p\"",
            "3: mail.password_file: must not be set with mail.login = \"microsoft_app\": the app gets a token instead",
        ),
        (
            "[mail]\ngreeting_name = \"localhost\"",
            "2: mail.greeting_name: \"localhost\" is not a domain name, such as \"posture.example.com\"",
        ),
        (
            "[mail]\ngreeting_name = \"192.0.2.1\"",
            "2: mail.greeting_name: \"192.0.2.1\" is not a domain name, such as \"posture.example.com\"",
        ),
    ] {
        refused(text, said);
    }
}
