//! The mappings that this release carries.

use posture::connect::mapping::{
    Auth, Base, FILES, Pager, Proof, Report, WindowForm, check, embedded,
};

fn report(kind: &str) -> Report {
    let (name, text) = FILES.into_iter().find(|(it, _)| *it == format!("{kind}.toml")).unwrap();
    check(name, text).unwrap_or_else(|problems| {
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        panic!("{}", problems.join("\n"))
    })
}

#[test]
fn every_file_is_right_and_its_examples_hold() {
    for (name, _) in FILES {
        let kind = name.strip_suffix(".toml").unwrap();
        let report = report(kind);
        assert_eq!(report.kind, kind);
        assert!(!report.examples.is_empty());
    }
    assert_eq!(embedded().len(), FILES.len());
}

#[test]
fn each_says_what_it_decides_and_whether_that_is_proven() {
    let controls = |kind: &str| report(kind).controls.into_iter().collect::<Vec<_>>().join(" ");
    let all = "DAT-01 END-02 END-04 END-05 END-06 END-07 END-08 END-09 END-10 ID-21";
    assert_eq!(controls("ninjaone"), all);
    assert_eq!(controls("datto"), "END-02 END-05 END-07 END-09 END-10");
    assert_eq!(controls("tactical"), "END-02 END-09 END-10");
    assert_eq!(controls("huntress"), "END-02 END-05 END-06 END-09 END-14 END-19");
    for (kind, proof) in [
        ("ninjaone", Proof::Specification),
        ("datto", Proof::Specification),
        ("tactical", Proof::Recorded),
        ("huntress", Proof::Specification),
    ] {
        assert_eq!(report(kind).proof, proof, "{kind}");
    }
}

#[test]
fn how_a_tool_is_reached_is_plain_data() {
    let [ninja, datto, tactical, _] = embedded() else { panic!("four") };
    assert!(
        matches!(&ninja.base, Base::Regions(all) if all.iter().any(|it| it.1 == "https://eu.ninjarmm.com"))
    );
    assert!(
        matches!(&ninja.auth, Auth::OauthClientCredentials { scope: Some(it), .. } if it == "monitoring")
    );
    let stream = |name: &str| ninja.streams.iter().find(|it| it.name == name).unwrap();
    let devices = stream("devices");
    assert_eq!((devices.path.as_str(), devices.is_required), ("/v2/devices-detailed", true));
    assert!(matches!(&devices.pager, Pager::AfterId { id, .. } if id.as_str() == "/id"));
    assert_eq!(devices.page_size.as_ref().unwrap().n, 1000);
    let installs = stream("os_patch_installs");
    let window = installs.window.as_ref().unwrap();
    assert_eq!(
        (&*window.parameter, window.days, window.form),
        ("installedAfter", 60, WindowForm::S)
    );
    assert!(
        matches!(&installs.pager, Pager::NamedCursor { offset, .. } if offset.as_str() == "/cursor/offset")
    );
    assert!(
        matches!(&datto.auth, Auth::OauthPassword { client_id, .. } if client_id == "public-client")
    );
    let next = |it: &Pager| matches!(it, Pager::NextUrl { total: Some(total), .. } if total.as_str() == "/pageDetails/totalCount");
    assert!(datto.streams.iter().all(|it| next(&it.pager)));
    assert_eq!(tactical.auth, Auth::Header { name: "X-API-KEY".to_owned() });
    let secrets: Vec<bool> = datto.inputs.iter().map(|it| it.is_secret).collect();
    assert_eq!(secrets, [false, true]);
    assert!(
        tactical.streams.iter().all(|it| it.path.ends_with('/')),
        "without it the server redirects"
    );
}
