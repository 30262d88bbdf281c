//! Lists of assets whose columns a source names in its own way.

use posture_core::engine::asset::{AssetType, Seen};
use posture_core::import::inventory::Columns;
use posture_core::import::{self, Format, Record};

use super::{folded, refusal};
use crate::harness::sample::own;

fn assets(file: &[u8], columns: &[(&str, &str)]) -> posture_core::error::Result<Vec<Seen>> {
    let own = |it: &(&str, &str)| (it.0.to_owned(), it.1.to_owned());
    let columns = Columns::of(&columns.iter().map(own).collect::<Vec<_>>()).unwrap();
    let mut found = Vec::new();
    import::read_with(Format::Inventory, &columns, &mut &file[..], &mut |record| {
        if let Record::Asset(seen) = record {
            found.push(seen);
        }
        Ok(())
    })?;
    Ok(found)
}

#[test]
fn the_usual_columns_of_tables_and_of_json_are_known() {
    let all = assets(&own("inventory/assets.csv"), &[]).unwrap();
    let [laptop, server] = &all[..] else { panic!("{all:?}") };
    assert_eq!((laptop.external_id.as_str(), laptop.name.as_str()), ("A-001", "LAP-1"));
    assert_eq!(laptop.asset_type, AssetType::Workstation);
    assert_eq!(laptop.ip.as_deref(), Some("192.0.2.71"));
    assert_eq!(laptop.mac.as_deref(), Some("00:1b:2c:00:00:71"));
    assert_eq!((laptop.serial.as_deref(), laptop.is_managed), (Some("SN1"), false));
    assert_eq!(laptop.reported.owner.as_deref(), Some("alice@acme.example"));
    assert_eq!(laptop.reported.description.as_deref(), Some("First"));
    assert_eq!(laptop.seen_at, Some("2026-11-20T00:00:00Z".parse().unwrap()));
    assert_eq!((server.asset_type, server.serial.as_deref()), (AssetType::Server, None));

    let all = assets(&own("inventory/devices.json"), &[]).unwrap();
    let [pc, phone] = &all[..] else { panic!("{all:?}") };
    assert_eq!((pc.external_id.as_str(), pc.name.as_str()), ("d1", "PC-9"));
    assert_eq!((pc.mac.as_deref(), pc.is_managed), (Some("00:1b:2c:00:00:79"), true));
    assert_eq!((phone.asset_type, phone.is_managed), (AssetType::Mobile, false));
}

#[test]
fn a_column_can_be_named_left_out_or_be_inside_of_another() {
    let all = assets(
        &own("inventory/assets.csv"),
        &[("name", "Serial Number"), ("serial", ""), ("id", "")],
    );
    let all = all.unwrap();
    assert_eq!((all[0].name.as_str(), all[0].serial.as_deref()), ("SN1", None));
    assert_eq!(all[0].external_id, "00:1b:2c:00:00:71", "what stays with the device");
    let inner = r#"[{"device": {"label": "a"}, "n": 1}, {"device": {"label": "b"}}]"#;
    let names = assets(inner.as_bytes(), &[("name", "device.label")]).unwrap();
    let names: Vec<&str> = names.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    let lines = "{\"name\": \"a\"}\n{\"name\": \"b\"}\n";
    assert_eq!(assets(lines.as_bytes(), &[]).unwrap().len(), 2);
    let old_mac = "Name,Serial\ra,1\rb,2\r";
    assert_eq!(assets(old_mac.as_bytes(), &[]).unwrap().len(), 2);
}

#[test]
fn a_list_without_a_column_says_which_it_has() {
    let error = |file: &str, columns: &[(&str, &str)]| {
        assets(file.as_bytes(), columns).unwrap_err().message().to_owned()
    };
    let table = "Label,Maker\na,b\n";
    let nameless = error(table, &[]);
    assert!(nameless.contains("--column name=COLUMN; it has Label, Maker"), "{nameless}");
    let missing = error(table, &[("name", "Label"), ("serial", "Serial")]);
    assert!(missing.contains("no column Serial; it has Label, Maker"), "{missing}");
    let json = "[{\"label\": \"a\", \"maker\": \"b\"}]";
    let nameless = error(json, &[]);
    assert!(nameless.contains("--column name=COLUMN; it has label, maker"), "{nameless}");
    let missing = error(json, &[("name", "label"), ("serial", "Serial")]);
    assert!(missing.contains("no column Serial; it has label, maker"), "{missing}");
    let many =
        format!("{}\n1\n", (0..100_000).map(|it| it.to_string()).collect::<Vec<_>>().join(","));
    let nameless = error(&many, &[]);
    assert!(nameless.contains("38, 39, and 99960 more"), "{nameless}");

    assert!(refusal(Format::Inventory, b"").contains("empty"));
    assert!(refusal(Format::Inventory, b"\xff\xfea\0").contains("UTF-16"));
    assert!(refusal(Format::Inventory, b"Name,Serial\na").contains("truncated"));
    assert!(refusal(Format::Inventory, b"Name,Serial\na,\"1").contains("truncated"));
    assert_eq!(assets(b"Name,Serial\na,1", &[]).unwrap().len(), 1);
    assert!(refusal(Format::Inventory, b"[{\"name\": \"a\"}").contains("truncated"));
    assert!(refusal(Format::Inventory, b"[1]").contains("no object"));
    let wide = format!(
        "[{{{}}}]",
        (0..501).map(|it| format!("\"a{it}\": 1")).collect::<Vec<_>>().join(",")
    );
    assert!(refusal(Format::Inventory, wide.as_bytes()).contains("more than 500 members"));
    let bytes = folded(Format::Inventory, b"Name,Serial\n\xff,1\nb,=1+1\n").unwrap();
    assert_eq!(super::skipped(&bytes), [("not UTF-8", 1)]);
    assert_eq!(bytes.assets[0].serial.as_deref(), Some("=1+1"), "cells are texts");
}

#[test]
fn an_operating_system_says_what_it_runs_on() {
    for (os, asset_type) in [
        ("Windows 11 Pro", AssetType::Workstation),
        ("Windows Server 2022", AssetType::Server),
        ("Ubuntu 24.04", AssetType::Server),
        ("iOS 18", AssetType::Mobile),
        ("iPadOS", AssetType::Mobile),
        ("FortiOS 7.4", AssetType::NetworkDevice),
        ("Cisco IOS XE", AssetType::NetworkDevice),
        ("", AssetType::Device),
    ] {
        let all = assets(format!("name,os\na,{os}\n").as_bytes(), &[]).unwrap();
        assert_eq!(all[0].asset_type, asset_type, "{os}");
    }
}

mod needs_samples {
    use posture_core::import::Format;

    use crate::harness::sample::foreign;
    use crate::import::folded;

    #[test]
    #[ignore = "needs other people's samples"]
    fn lists_of_assets_are_read_row_by_row() {
        let of_spreadsheets =
            ["csv_inventory/snipeit_assets.csv", "csv_inventory/snipeit_assets_BLANKS.csv"];
        for (name, n_assets) in of_spreadsheets.into_iter().zip([22, 200]) {
            let run = folded(Format::Inventory, &foreign(name)).unwrap();
            assert_eq!((run.assets.len(), run.n_records), (n_assets, n_assets as u64), "{name}");
        }
        let head = foreign("csv_inventory/snipeit_assets_BLANKS.csv");
        assert_eq!(posture_core::import::detect(&head), Some(Format::Inventory));
    }
}
