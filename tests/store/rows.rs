//! What is written is read back, by the client it is of and by nobody else.

use posture_core::engine::asset::Asset;
use posture_core::engine::posture::{Risk, RiskExtent, Score, SourceType};
use posture_core::engine::severity::Severity;
use posture_core::error::Code;
use posture_core::id::{AssetId, ClientId, ImportId, KeyId, RiskId, ScoreId};
use posture_core::page::Cut;
use posture_store::store::global::client::{Client, ClientState};
use posture_store::store::global::key::limit::Windows;
use posture_store::store::global::key::{Key, Previous, Scope};
use posture_store::store::per_client::asset::{AssetFilter, IdentityKey};
use posture_store::store::per_client::history::score::ScoreMove;
use posture_store::store::per_client::import::Import;
use posture_store::store::per_client::posture::{OpenRisk, ScoreEntry};
use posture_store::store::{ClientStore, RECORD_BYTES_MAX, Versions};

use super::{
    N_MIXED, add_event, count_assets, memory, mixed, n_mixed, new_asset, noon, some_client,
};

fn client_row(number: u8) -> Client {
    Client {
        id: some_client(number),
        name: format!("client {number}"),
        industry: Some("legal".to_owned()),
        employee_count: Some(12),
        settings: "{}".to_owned(),
        state: ClientState::Active,
        created_at: noon(),
        updated_at: noon(),
    }
}

pub(super) fn import(id: u8, digest: u8, at_s: i64) -> Import {
    Import {
        id: ImportId::from_bytes([id; 16]),
        file_name: "report.json".to_owned(),
        format: "prowler".to_owned(),
        digest: [digest; 32],
        source: "prowler".to_owned(),
        scopes: vec!["account".to_owned()],
        n_scopes: 1,
        observed_from: Some(noon()),
        observed_to: None,
        n_records: 10,
        n_facts: 9,
        n_assets_new: 1,
        n_assets_updated: 0,
        skipped: vec![("muted".to_owned(), 1)],
        by: "somebody".to_owned(),
        at: noon().plus_s(at_s),
        complete: false,
        retracted_at: None,
    }
}

fn score(overall: u8, days: i64) -> ScoreEntry {
    let score = Score {
        overall,
        categories: vec![("Identity".to_owned(), overall)],
        n_total: 3,
        n_compliant: 1,
        n_partial: 1,
        n_non_compliant: 1,
    };
    ScoreEntry { id: ScoreId::random(), score, calculated_at: noon().plus_days(days) }
}

#[test]
fn clients_keys_and_windows_are_read_back() {
    let store = memory();
    let key = Key {
        id: KeyId::random(),
        prefix: "abcdefghij".to_owned(),
        name: "psa".to_owned(),
        scopes: Scope::ALL.to_vec(),
        clients: vec![some_client(1)],
        networks: vec!["10.0.0.0/8".to_owned()],
        per_minute: 60,
        per_hour: 1_000,
        per_day: 10_000,
        expires_at: None,
        source: "psa".to_owned(),
        digest: [3; 32],
        previous: Some(Previous { prefix: "zyx".to_owned(), digest: [4; 32], until: noon() }),
        created_at: noon(),
        revoked_at: None,
    };
    let windows = vec![(key.id, Windows { used: [1, 2, 3], ..Windows::default() })];
    let rows = (client_row(2), client_row(1), key.clone(), windows.clone());
    store
        .write_now(move |batch| {
            batch.put_client(&rows.0)?;
            batch.put_client(&rows.1)?;
            batch.put_key(&rows.2)?;
            batch.put_windows(&rows.3)
        })
        .unwrap();
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.list_clients().unwrap(), [client_row(1), client_row(2)]);
    assert_eq!(snapshot.client(some_client(3)).find_profile().unwrap(), None);
    assert_eq!(snapshot.list_keys().unwrap(), std::slice::from_ref(&key));
    assert_eq!(snapshot.list_windows().unwrap(), windows);
    assert_eq!(snapshot.installation().unwrap().msp_id.len(), 36);
    for scope in Scope::ALL {
        assert_eq!(scope.as_str().parse::<Scope>().unwrap(), scope);
    }
}

#[test]
fn an_asset_is_found_by_all_its_names_and_marks_and_by_no_old_ones() {
    let store = memory();
    let rows = store.client_store(some_client(1));
    let asset = rows
        .write_now(|batch| {
            batch.add_asset(Asset { mac: Some("aa:bb".to_owned()), ..new_asset("one") })
        })
        .unwrap();
    let id = asset.id;
    rows.write_now(move |batch| {
        batch.link_external("scanner", "10.0.0.7", id)?;
        let asset = batch.find_asset(id)?.expect("just added");
        batch.put_asset(&Asset {
            external_id: "uno".to_owned(),
            mac: None,
            hostname: Some("HOST".to_owned()),
            ip: Some("10.0.0.7".to_owned()),
            ..asset
        })
    })
    .unwrap();
    let snapshot = rows.snapshot().unwrap();
    let id_by_name = |source: &str, name: &str| {
        snapshot.find_asset_by_external(source, name).unwrap().map(|it| it.id)
    };
    let id_by = |mark: IdentityKey<'_>| snapshot.find_asset_by(mark).unwrap().map(|it| it.id);
    assert_eq!(id_by_name("rmm", "uno"), Some(id));
    assert_eq!(id_by_name("scanner", "10.0.0.7"), Some(id));
    assert_eq!(id_by_name("rmm", "one"), None, "that name went away");
    assert_eq!(id_by(IdentityKey::Hostname("host")), Some(id));
    assert_eq!(id_by(IdentityKey::Ip("10.0.0.7")), Some(id));
    assert_eq!(id_by(IdentityKey::Mac("aa:bb")), None, "that mark went away");
    assert_eq!(id_by(IdentityKey::Serial("host")), None, "a mark of another kind");
    let other = store.client_store(some_client(2)).snapshot().unwrap();
    assert_eq!(other.find_asset_by(IdentityKey::Ip("10.0.0.7")).unwrap(), None);
    assert_eq!(other.find_asset(id).unwrap(), None);
}

#[test]
fn a_name_that_leads_to_another_asset_is_a_conflict() {
    let store = memory();
    let rows = store.client_store(some_client(1));
    let one = rows.write_now(|batch| batch.add_asset(new_asset("one"))).unwrap();
    let again = rows.write_now(|batch| batch.add_asset(new_asset("one"))).unwrap_err();
    assert_eq!(again.code, Code::Conflict);
    let two = rows.write_now(|batch| batch.add_asset(new_asset("two"))).unwrap();
    let linked = rows.write_now(move |batch| batch.link_external("rmm", "two", one.id));
    assert_eq!(linked.unwrap_err().code, Code::Conflict);
    let linked = rows.write_now(move |batch| batch.link_external("rmm", "two", two.id));
    assert!(linked.is_ok(), "it leads there already");
}

#[test]
fn an_import_is_found_by_its_bytes_unless_it_was_retracted() {
    let store = memory();
    let rows = store.client_store(some_client(1));
    rows.write_now(|batch| {
        batch.add_import(&import(1, 9, 0))?;
        batch.add_import(&import(2, 9, 60))?;
        batch.add_import(&import(3, 8, 30))
    })
    .unwrap();
    let again = rows.write_now(|batch| batch.add_import(&import(3, 8, 30))).unwrap_err();
    assert_eq!(again.code, Code::Conflict);
    let newest = || rows.snapshot().unwrap().find_import_by_digest(&[9; 32]).unwrap();
    assert_eq!(newest(), Some(import(2, 9, 60)));
    rows.write_now(|batch| {
        batch.put_import(&Import { retracted_at: Some(noon()), ..import(2, 9, 60) })
    })
    .unwrap();
    assert_eq!(newest(), Some(import(1, 9, 0)));
    let ids: Vec<_> = rows.snapshot().unwrap().list_imports().unwrap();
    let ids: Vec<u8> = ids.iter().map(|it| it.id.as_bytes()[0]).collect();
    assert_eq!(ids, [2, 3, 1], "newest first");
}

#[test]
fn days_and_moves_come_newest_first_and_old_ones_go() {
    let store = memory();
    let rows = store.client_store(some_client(1));
    let at = |days: i64, to: u8| ScoreMove {
        at: noon().plus_days(days),
        from: None,
        to,
        cause: "scope".to_owned(),
        controls: Vec::new(),
    };
    rows.write_now(move |batch| {
        for (days, overall) in [(0, 50), (1, 51), (1, 52), (2, 53)] {
            batch.put_day(&score(overall, days))?;
            batch.add_move(&at(days, overall))?;
        }
        Ok(())
    })
    .unwrap();
    let days = || -> Vec<u8> {
        let days = rows.snapshot().unwrap().list_days(10).unwrap();
        days.iter().map(|it| it.score.overall).collect()
    };
    let moves = || -> Vec<u8> {
        rows.snapshot().unwrap().list_moves(10).unwrap().iter().map(|it| it.to).collect()
    };
    assert_eq!(days(), [53, 52, 50], "the last of each day");
    assert_eq!(moves(), [53, 52, 51, 50]);
    assert_eq!(rows.snapshot().unwrap().list_days(1).unwrap().len(), 1);
    let removed = rows.write_now(|batch| batch.remove_history_before(noon().plus_days(1), 10));
    assert_eq!(removed.unwrap(), 2, "a day and a move");
    assert_eq!((days(), moves()), (vec![53, 52], vec![53, 52, 51]));
}

#[test]
fn touched_subjects_and_risks_are_read_back() {
    let store = memory();
    let rows = store.client_store(some_client(1));
    let risk = OpenRisk {
        id: RiskId::random(),
        risk: Risk {
            condition: "control/ac-1".to_owned(),
            title: "t".to_owned(),
            description: "d".to_owned(),
            category: "c".to_owned(),
            severity: Severity::High,
            dollar_impact: Some(1_000),
            score: 70,
            source_type: SourceType::Control,
            verified: true,
            is_muted: false,
            extent: RiskExtent::default(),
        },
        created_at: noon(),
        closed: None,
        occurrence: 1,
        opened_at: noon(),
        accepted: None,
    };
    let row = risk.clone();
    rows.write_now(move |batch| {
        batch.put_touched(5, 70)?;
        batch.put_touched(u64::MAX, 30)?;
        batch.put_risk(&row)
    })
    .unwrap();
    let snapshot = rows.snapshot().unwrap();
    assert_eq!(snapshot.touched_scores(&[u64::MAX, 4, 5]).unwrap(), [Some(30), None, Some(70)]);
    assert_eq!(snapshot.list_touched().unwrap(), [(5, 70), (u64::MAX, 30)]);
    assert_eq!(snapshot.list_risks().unwrap(), [risk]);
}

#[test]
fn events_are_numbered_without_gaps_and_never_twice() {
    let store = memory();
    let (one, two) = (store.client_store(some_client(1)), store.client_store(some_client(2)));
    for (rows, name) in [(&one, "a"), (&two, "b"), (&one, "c")] {
        rows.write_now(move |batch| add_event(batch, name)).unwrap();
    }
    let refused = one.write_now(|batch| {
        add_event(batch, "never")?;
        Err::<(), _>(posture_core::error::Error::conflict("no"))
    });
    assert!(refused.is_err());
    let list = |after, clients: Option<&[ClientId]>| -> Vec<(u64, String)> {
        let events = store.snapshot().unwrap().list_events(after, 10, clients).unwrap();
        let name = |body: &str| -> String {
            let body: serde_json::Value = serde_json::from_str(body).unwrap();
            body["data"]["object"]["name"].as_str().unwrap().to_owned()
        };
        events.into_iter().map(|it| (it.sequence, name(&it.body))).collect()
    };
    let named = |n: u64, name: &str| (n, name.to_owned());
    assert_eq!(list(0, None), [named(1, "a"), named(2, "b"), named(3, "c")]);
    assert_eq!(list(1, Some(&[some_client(1)])), [named(3, "c")]);
    assert!(!store.write_now(|batch| batch.remove_events_before(noon().plus_s(1), 10)).unwrap());
    assert_eq!(list(0, None), []);
    let next = one.write_now(|batch| add_event(batch, "d")).unwrap();
    assert_eq!(next, 4, "a sequence is not used again");
}

#[test]
fn the_earliest_due_time_counts_until_it_is_set() {
    let store = memory();
    let (one, two) = (store.client_store(some_client(1)), store.client_store(some_client(2)));
    one.write_now(|batch| {
        batch.put_due(noon().plus_s(60))?;
        batch.put_due(noon().plus_s(10))?;
        batch.put_due(noon().plus_s(90))
    })
    .unwrap();
    two.write_now(|batch| batch.put_due(noon())).unwrap();
    let due = |until_s: i64| -> Vec<u8> {
        let due = store.snapshot().unwrap().list_due(noon().plus_s(until_s), 10).unwrap();
        due.iter().map(|it| it.0.as_bytes()[0]).collect()
    };
    assert_eq!(due(9), [2]);
    assert_eq!(due(10), [2, 1]);
    one.write_now(|batch| batch.set_due(Some(noon().plus_s(3_600)))).unwrap();
    two.write_now(|batch| batch.set_due(None)).unwrap();
    assert_eq!(due(3_599), Vec::<u8>::new());
    assert_eq!(due(3_600), [1]);
}

#[test]
fn stale_candidates_come_in_bounded_steps() {
    let store = memory();
    let rows = store.client_store(some_client(1));
    for index in 0..10 {
        let asset =
            Asset { last_seen_at: noon().plus_days(-index), ..new_asset(&index.to_string()) };
        rows.write_now(move |batch| batch.add_asset(asset.clone())).unwrap();
    }
    let snapshot = rows.snapshot().unwrap();
    let (mut names, mut after, mut n_steps) = (Vec::new(), None, 0);
    loop {
        let found = snapshot.list_aged_assets(noon().plus_days(-6), noon(), after, 3).unwrap();
        names.extend(found.stale.into_iter().map(|it| it.external_id));
        n_steps += 1;
        after = found.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(names, ["7", "8", "9"]);
    assert_eq!(n_steps, 4);
}

#[test]
fn a_record_that_is_too_large_is_refused_when_it_is_written() {
    let store = memory();
    let with = |n_bytes: usize| Client { settings: "x".repeat(n_bytes), ..client_row(1) };
    let row = with(RECORD_BYTES_MAX);
    let refused = store.write_now(move |batch| batch.put_client(&row)).unwrap_err();
    assert_eq!(refused.code, Code::TooLarge);
    assert_eq!(store.snapshot().unwrap().list_clients().unwrap(), []);
    let row = with(RECORD_BYTES_MAX - 100);
    store.write_now(move |batch| batch.put_client(&row)).unwrap();
    assert_eq!(store.snapshot().unwrap().list_clients().unwrap(), [with(RECORD_BYTES_MAX - 100)]);
}

#[test]
fn what_encodes_within_the_limit_decodes() {
    let store = memory();
    let rows = store.client_store(some_client(1));
    // The most memory for the fewest bytes: empty texts.
    let n_texts = RECORD_BYTES_MAX - 400;
    let tags = vec![String::new(); n_texts];
    let asset = Asset { tags, ..new_asset("many") };
    let added = rows.write_now(move |batch| batch.add_asset(asset.clone())).unwrap();
    assert_eq!(rows.snapshot().unwrap().find_asset(added.id).unwrap(), Some(added));
    let skipped = vec![(String::new(), 0); n_texts / 2];
    let row = Import { skipped, ..import(1, 1, 0) };
    let kept = row.clone();
    rows.write_now(move |batch| batch.put_import(&row)).unwrap();
    assert_eq!(rows.snapshot().unwrap().list_imports().unwrap(), [kept]);
}

#[test]
fn texts_of_any_length_make_keys_that_do_not_mix() {
    let store = memory();
    let rows = store.client_store(some_client(1));
    let long = "x".repeat(2_000);
    let names = [
        String::new(),
        "x".repeat(254),
        "x".repeat(255),
        long.clone(),
        long + "y",
        "é".repeat(250),
    ];
    for name in names.clone() {
        rows.write_now(move |batch| batch.add_asset(new_asset(&name))).unwrap();
    }
    for name in names {
        let found = rows.snapshot().unwrap().find_asset_by_external("rmm", &name).unwrap();
        assert_eq!(found.map(|it| it.external_id), Some(name));
    }
}

fn all_assets(rows: &ClientStore) -> Vec<AssetId> {
    let page = rows.page_assets(&AssetFilter::default(), Cut { limit: 1_000, offset: 0 });
    page.expect("open").items.into_iter().map(|it| it.id).collect()
}

#[test]
fn an_erased_client_leaves_nothing_and_takes_nothing_of_another() {
    let store = memory();
    let (gone, stays) = (some_client(1), some_client(2));
    for id in [gone, stays] {
        let row = client_row(id.as_bytes()[0]);
        store.write_now(move |batch| batch.put_client(&row)).unwrap();
        for index in 0..30 {
            let name = format!("{index}");
            let rows = store.client_store(id);
            rows.write_now(move |batch| {
                mixed(batch, &name)?;
                batch.put_score(&score(50, 0))?;
                batch.put_day(&score(50, 0))
            })
            .unwrap();
        }
    }
    let before = store.versions(gone);
    let assets: Vec<_> = all_assets(&store.client_store(gone));
    assert_eq!(assets.len(), 30);
    let mut n_steps = 0;
    while store.write_now(move |batch| batch.erase_client_chunk(gone, 20)).unwrap() {
        n_steps += 1;
        assert!(n_steps < 100, "it ends");
    }
    assert!(5 < n_steps, "in small steps, not {n_steps}");
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.client(gone).find_profile().unwrap(), None);
    for id in assets {
        assert_eq!(snapshot.find_asset_client(id).unwrap(), None);
    }
    assert_eq!(snapshot.list_events(0, 100, Some(&[gone])).unwrap(), []);
    assert_eq!(snapshot.list_events(0, 100, None).unwrap().len(), 30);
    assert_eq!(snapshot.list_due(noon(), 10).unwrap(), [(stays, noon())]);
    assert_eq!(snapshot.client(gone).list_all_observations().unwrap(), []);
    assert_eq!(snapshot.client(gone).find_score().unwrap(), None);
    assert_eq!(count_assets(&store.client_store(gone), &AssetFilter::default()).unwrap(), 0);
    for index in 0..30 {
        assert_eq!(n_mixed(&store, gone, &index.to_string()), 0);
        assert_eq!(n_mixed(&store, stays, &index.to_string()), N_MIXED);
    }
    let after = store.versions(gone);
    assert!(before.profile < after.profile && before.inventory < after.inventory);
    assert!(before.posture < after.posture);
}

#[test]
fn a_write_moves_the_versions_of_the_parts_it_changes() {
    let store = memory();
    let rows = store.client_store(some_client(1));
    let start = rows.versions();
    rows.write_now(|batch| batch.add_asset(new_asset("one"))).unwrap();
    let pushed = rows.versions();
    assert!(start.inventory < pushed.inventory);
    assert_eq!((start.profile, start.posture), (pushed.profile, pushed.posture));
    rows.write_now(|batch| batch.put_score(&score(50, 0))).unwrap();
    let scored = rows.versions();
    assert!(pushed.posture < scored.posture);
    assert_eq!((pushed.profile, pushed.inventory), (scored.profile, scored.inventory));
    store.write_now(|batch| batch.put_client(&client_row(1))).unwrap();
    assert!(scored.profile < rows.versions().profile);
    rows.write_now(|batch| batch.put_touched(1, 1)).unwrap();
    assert!(scored.inventory < rows.versions().inventory, "assets show the worst risk");
    let refused = rows.write_now(|batch| batch.add_asset(new_asset("one")));
    let before = rows.versions();
    assert!(refused.is_err());
    assert_eq!(rows.versions(), before);
    assert_eq!(store.versions(some_client(2)), Versions::default());
}
