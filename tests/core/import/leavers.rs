//! Lists of people who left: whom they name, and when those left.

use posture_core::engine::identity::leaver::{Leaver, PersonName};
use posture_core::import::inventory::Columns;
use posture_core::import::{self, Format, Record};

use super::{folded, refusal, skipped};
use crate::harness::sample::own;

fn leavers(file: &[u8], columns: &[(&str, &str)]) -> posture_core::error::Result<Vec<Leaver>> {
    let own = |it: &(&str, &str)| (it.0.to_owned(), it.1.to_owned());
    let columns = Columns::of(&columns.iter().map(own).collect::<Vec<_>>()).unwrap();
    let mut found = Vec::new();
    import::read_with(Format::Leavers, &columns, &mut &file[..], &mut |record| {
        if let Record::Leaver(leaver) = record {
            found.push(leaver);
        }
        Ok(())
    })?;
    Ok(found)
}

fn leaver(names: &[Option<PersonName>], last_day: Option<&str>) -> Leaver {
    let last_day = last_day.map(|it| it.parse().unwrap());
    Leaver { names: names.iter().copied().map(Option::unwrap).collect(), last_day }
}

#[test]
fn the_usual_columns_of_tables_and_of_json_are_known() {
    let (login, number) = (PersonName::login, PersonName::number);
    let table = own("inventory/leavers.csv");
    let wanted = [
        leaver(&[login("ann@acme.example"), number("1001")], Some("2026-11-20T00:00:00Z")),
        leaver(&[login("bob"), number("1002")], Some("2026-11-21T00:00:00Z")),
        leaver(&[login("cy@acme.example"), login("cy"), number("1003")], None),
    ];
    assert_eq!(leavers(&table, &[]).unwrap(), wanted);
    assert_eq!(import::detect(&table), Some(Format::Leavers));
    let run = folded(Format::Leavers, &table).unwrap();
    assert_eq!((run.n_records, run.leavers.len()), (5, 3));
    let reasons = [
        ("no e-mail address, login or employee id", 1),
        ("no last day: the person has not left", 1),
        ("the last day is not a date such as 2026-11-20", 1),
    ];
    assert_eq!(skipped(&run), reasons);
    assert_eq!(run.scopes, ["leavers"]);

    let all = leavers(&own("inventory/leavers.json"), &[]).unwrap();
    let ann = [login("ann@acme.example"), number("1001")];
    assert_eq!(all[0], leaver(&ann, Some("2026-11-20T17:00:00Z")));
    assert_eq!(all[1].last_day, None);
    assert_eq!(import::detect(&own("inventory/leavers.json")), None, "JSON is never guessed");
}

#[test]
fn numbers_are_no_days() {
    for day in ["46346", "202611", "1796083200", "2026113", "20261332", "6.37702E+15", "soon"] {
        let file = format!("email,last day\na@x.example,{day}\n");
        let run = folded(Format::Leavers, file.as_bytes()).unwrap();
        assert_eq!(skipped(&run), [("the last day is not a date such as 2026-11-20", 1)], "{day}");
    }
}

#[test]
fn a_list_without_a_column_says_which_it_has() {
    let error = |file: &str, columns: &[(&str, &str)]| {
        leavers(file.as_bytes(), columns).unwrap_err().message().to_owned()
    };
    let table = "Person,Gone\na@x.example,2026-11-20\n";
    let nameless = error(table, &[]);
    assert!(nameless.contains("--column email=COLUMN; it has Person, Gone"), "{nameless}");
    let endless = error(table, &[("email", "Person")]);
    assert!(endless.contains("--column last-day=COLUMN; it has Person, Gone"), "{endless}");
    let missing = error(table, &[("email", "Person"), ("last-day", "Left")]);
    assert!(missing.contains("no column Left; it has Person, Gone"), "{missing}");
    assert_eq!(
        leavers(table.as_bytes(), &[("email", "Person"), ("last-day", "Gone")]).unwrap().len(),
        1
    );
    let json = r#"[{"email": "a@x.example", "gone": "2026-11-20"}]"#;
    let endless = error(json, &[]);
    assert!(endless.contains("--column last-day=COLUMN; it has email, gone"), "{endless}");
}

#[test]
fn broken_lists_are_refused() {
    let refused = |file: &[u8]| refusal(Format::Leavers, file);
    assert!(refused(b"").contains("empty"));
    assert!(refused(b"\xff\xfee\0").contains("UTF-16"));
    assert!(refused(b"email,last day\na@x.example").contains("truncated"));
    assert!(refused(b"email,last day\na@x.example,\"2026").contains("truncated"));
    assert!(refused(b"[{\"email\": \"a\"}").contains("truncated"));
    let long = format!("email,last day\n{},2026-11-20\n", "a".repeat(5 << 20));
    assert!(refused(long.as_bytes()).contains("longer than 4 MiB"));
    let names: Vec<String> = (0..1_000_000).map(|it| it.to_string()).collect();
    let wide = format!("{}\n", names.join(","));
    assert!(refused(wide.as_bytes()).contains("longer than 4 MiB"));
    let bytes = folded(Format::Leavers, b"email,last day\n\xff,2026-11-20\n=1+1,2026-11-20\n");
    let bytes = bytes.unwrap();
    assert_eq!(skipped(&bytes), [("not UTF-8", 1)]);
    assert_eq!(bytes.leavers.len(), 1, "cells are texts");
    let row = |it: usize| format!("p{it}@x.example,2026-11-20\n");
    let most = |n: usize| format!("email,last day\n{}", (0..n).map(row).collect::<String>());
    assert_eq!(folded(Format::Leavers, most(20_000).as_bytes()).unwrap().leavers.len(), 20_000);
    assert!(refused(most(20_001).as_bytes()).contains("more than 20000 people"));
}

mod needs_samples {
    use posture_core::import::Format;

    use crate::harness::sample::foreign;
    use crate::import::{folded, skipped};

    #[test]
    #[ignore = "needs other people's samples"]
    fn of_a_list_of_users_those_with_an_end_date_left() {
        let file = foreign("csv_inventory/snipeit_users.csv");
        let run = folded(Format::Leavers, &file).unwrap();
        assert_eq!((run.n_records, run.leavers.len()), (100, 100));
        assert_eq!(skipped(&run), [("no last day: the person has not left", 89)]);
        assert_eq!(run.leavers.iter().filter(|it| it.last_day.is_some()).count(), 11);
        assert_eq!(posture_core::import::detect(&file), None, "an end date may be anything's");
    }
}
