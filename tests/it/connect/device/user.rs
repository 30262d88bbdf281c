//! ID-21: the MSP's own people in a tool.

use posture::connect::device::{ToolUser, judge_users};
use posture::connect::reading::JudgedStatus::{Compliant, NonCompliant, Partial};

fn user(enabled: Option<bool>, is_external: Option<bool>, mfa: Option<bool>) -> ToolUser {
    let (id, name) = ("1".to_owned(), "anna@msp.test".to_owned());
    ToolUser { id, name, enabled, is_external, mfa }
}

#[test]
fn every_technician_who_can_sign_in_needs_mfa() {
    let (yes, no) = (Some(true), Some(false));
    let safe = || user(yes, no, yes);
    for (other, expected) in [
        (safe(), Some(Compliant)),
        (user(yes, no, no), Some(NonCompliant)),
        (user(no, no, no), Some(Compliant)), // It cannot sign in.
        (user(yes, yes, no), Some(Partial)), // MFA may be required where it signs in.
        (user(yes, yes, yes), Some(Compliant)),
        (user(yes, None, no), Some(Partial)),
        (user(None, no, no), Some(Partial)),
        (user(None, None, yes), Some(Compliant)),
        (user(yes, no, None), Some(Partial)),
    ] {
        let said = format!("{other:?}");
        let judged = judge_users(&[safe(), other], "NinjaOne");
        assert_eq!(judged.map(|it| it.status), expected, "{said}");
    }
    assert_eq!(judge_users(&[], "NinjaOne"), None);
    assert_eq!(judge_users(&[user(no, no, no)], "NinjaOne"), None);
}

#[test]
fn findings_name_the_people_and_the_tool() {
    let judged = judge_users(&[user(Some(true), Some(false), Some(false))], "NinjaOne").unwrap();
    let expected = "anna@msp.test\n1 of 1 fail. These people can sign in to NinjaOne without MFA.";
    assert!(judged.findings.starts_with(expected), "{}", judged.findings);
    assert_eq!((judged.control, &*judged.check), ("ID-21", "technicians"));
}
