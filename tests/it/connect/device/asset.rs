//! Devices as assets.

use posture::connect::device::{Device, Last, assets};
use posture::engine::asset::{AssetType, Seen};

use super::{days_ago, device};

fn one(change: impl FnOnce(&mut Device)) -> Seen {
    let mut it = device("a");
    change(&mut it);
    assets(&[it], "acme").remove(0)
}

#[test]
fn a_device_is_an_asset_of_its_kind() {
    let it = one(|it| {
        it.kind = Some(AssetType::Server);
        it.hostname = Some("srv-1".to_owned());
        it.last_seen = Some(Last::At(days_ago(3)));
    });
    assert_eq!((&*it.external_id, &*it.name, &*it.scope), ("a", "A", "acme"));
    assert_eq!((it.asset_type, it.is_managed), (AssetType::Server, true));
    assert_eq!((it.hostname.as_deref(), it.seen_at), (Some("srv-1"), Some(days_ago(3))));
    assert_eq!(one(|it| it.kind = None).asset_type, AssetType::Device);
    assert_eq!(one(|it| it.last_seen = Some(Last::Never)).seen_at, None);
    for managed in [Some(false), None] {
        assert!(!one(|it| it.managed = managed).is_managed, "{managed:?}");
    }
}

#[test]
fn junk_is_no_serial_number() {
    for (text, expected) in [
        ("5CG1234XYZ", Some("5CG1234XYZ")),
        (" CZ2024 0042 ", Some("CZ2024 0042")),
        ("", None),
        ("0", None),
        ("00000000", None),
        ("----", None),
        ("XXXXXXXX", None),
        ("abc", None),
        ("None", None),
        ("To be filled by O.E.M.", None),
        ("TO BE FILLED BY O.E.M.", None),
        ("System Serial Number", None),
        ("Default string", None),
        ("VMware-56 4d 11 22 33", None),
        ("Parallels-11 22", None),
    ] {
        let it = one(|it| it.serial = Some(text.to_owned()));
        assert_eq!(it.serial.as_deref(), expected, "{text:?}");
    }
}

#[test]
fn addresses_of_network_cards_are_written_in_one_way() {
    for (text, expected) in [
        ("3C:52:82:01:02:03", Some("3c:52:82:01:02:03")),
        ("3C-52-82-01-02-03", Some("3c:52:82:01:02:03")),
        ("3c52.8201.0203", Some("3c:52:82:01:02:03")),
        ("3C5282010203", Some("3c:52:82:01:02:03")),
        ("02:00:00:00:00:01", None), // Locally administered.
        ("01:00:5e:00:00:01", None), // Multicast.
        ("00:00:00:00:00:00", None),
        ("3C:52:82:01:02", None),
        ("error", None),
    ] {
        let it = one(|it| it.macs = vec![text.to_owned()]);
        assert_eq!(it.mac.as_deref(), expected, "{text:?}");
    }
}

#[test]
fn what_several_devices_have_identifies_none() {
    let dock = "3C:52:82:00:00:01".to_owned();
    let with = |id: &str, serial: &str, mac: &str| Device {
        serial: Some(serial.to_owned()),
        macs: vec![dock.clone(), mac.to_owned(), mac.to_lowercase()],
        ..device(id)
    };
    let devices = [
        with("a", "SAME-1", "3C:52:82:00:00:0A"),
        with("b", "same-1", "3C:52:82:00:00:0B"),
        with("c", "OWN-1", "3C:52:82:00:00:0C"),
    ];
    let assets = assets(&devices, "");
    let keys: Vec<_> = assets.iter().map(|it| (it.serial.as_deref(), it.mac.as_deref())).collect();
    let expected = [
        (None, Some("3c:52:82:00:00:0a")),
        (None, Some("3c:52:82:00:00:0b")),
        (Some("OWN-1"), Some("3c:52:82:00:00:0c")),
    ];
    assert_eq!(keys, expected);
}

#[test]
fn the_first_address_that_others_reach_counts() {
    for (text, expected) in [
        ("192.168.10.149, 192.168.10.114", Some("192.168.10.149")),
        ("127.0.0.1, 10.0.0.5", Some("10.0.0.5")),
        ("fe80::1/64, 10.0.0.6/24", Some("10.0.0.6")),
        ("169.254.1.1;2001:db8::5", Some("2001:db8::5")),
        ("error getting local ips", None),
        ("", None),
    ] {
        let it = one(|it| it.ip = Some(text.to_owned()));
        assert_eq!(it.ip.as_deref(), expected, "{text:?}");
    }
}
