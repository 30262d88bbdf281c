//! What is one client's never shows in what a key of another gets.

use serde_json::{Value, json};

use crate::harness::backend::Random;
use crate::harness::{Answer, Posture, send};

const N_CLIENTS: usize = 20;
const N_PROBES: usize = 3_000;
const SEED: u64 = 20_260_310;

struct Tenant {
    id: String,
    /// In every text that this client has.
    canary: String,
    assets: Vec<String>,
}

/// A key and the clients that it is for.
struct Holder {
    key: String,
    tenants: Vec<usize>,
}

fn pick(random: &mut Random, len: usize) -> usize {
    usize::try_from(random.below(len as u64)).unwrap()
}

fn asset(tenant: &Tenant, external_id: &str) -> Value {
    let canary = &tenant.canary;
    json!({
        "clientId": tenant.id, "name": canary, "externalId": external_id, "assetType": "server",
        "displayName": canary, "category": canary, "owner": canary, "description": canary,
        "tags": [canary], "isCritical": true,
    })
}

fn tenant(posture: &Posture, key: &str, index: usize) -> Tenant {
    let canary = format!("canary{index:02}x{:08x}", Random::from_seed(index as u64).below(1 << 32));
    let id = posture.client_with(&json!({
        "name": canary, "industry": canary, "settings": {"own": {"canary": canary}},
    }));
    let mut tenant = Tenant { id, canary, assets: Vec::new() };
    for external_id in [tenant.canary.as_str(), "same for all"] {
        let made = posture.send("POST", key, "/assets", &asset(&tenant, external_id));
        assert_eq!(made.status, 201, "{}", made.text());
        tenant.assets.push(made.json()["data"]["id"].as_str().unwrap().to_owned());
    }
    let findings = [
        ("iam_root_mfa_enabled", "FAIL", "critical", tenant.canary.as_str()),
        ("iam_user_mfa_enabled_console_access", "FAIL", "high", tenant.canary.as_str()),
        ("iam_unknown_to_us", "FAIL", "critical", tenant.canary.as_str()),
    ];
    let file = crate::manage::prowler(&findings);
    let query = format!("observedAt=now&source={}", tenant.canary);
    assert_eq!(posture.import(&tenant.id, &query, &file).status, 200);
    tenant
}

fn holders(posture: &Posture, tenants: &[Tenant]) -> Vec<Holder> {
    let mut random = Random::from_seed(SEED);
    let mut lists: Vec<Vec<usize>> = (0..tenants.len()).map(|it| vec![it]).collect();
    for n in 2..6 {
        lists.push((0..n).map(|_| pick(&mut random, tenants.len())).collect());
    }
    let holder = |list: Vec<usize>| {
        let ids: Vec<_> = list.iter().map(|it| tenants[*it].id.as_str()).collect();
        Holder { key: posture.key_with(&json!({"clientIds": ids})), tenants: list }
    };
    lists.into_iter().map(holder).collect()
}

/// A random request: method, path and body, and the tenant that it aims at. What it writes is of
/// that tenant where the holder may, else of the holder's own.
fn probe(
    random: &mut Random,
    tenants: &[Tenant],
    holder: &Holder,
    aims: &[usize],
) -> (&'static str, String, Value, Option<usize>) {
    let at = aims[pick(random, aims.len())];
    let is_allowed = holder.tenants.contains(&at);
    let (target, own) = (&tenants[at], &tenants[if is_allowed { at } else { holder.tenants[0] }]);
    let asset_id = &target.assets[pick(random, target.assets.len())];
    let own_asset = || {
        let mut body = asset(own, "same for all");
        body["clientId"] = json!(target.id);
        body
    };
    let of = |rest: &str| format!("/clients/{}{rest}", target.id);
    let get = |path: String, at| ("GET", path, Value::Null, at);
    match pick(random, 14) {
        0 => get("/clients".to_owned(), None),
        1 => get(format!("/clients?limit=3&offset={}", pick(random, 5)), None),
        2 => get(format!("/clients?industry={}", target.canary), None),
        3 => get(of(""), Some(at)),
        4 => get(of("/assets"), Some(at)),
        5 => get(of(&format!("/assets?category={}", own.canary)), Some(at)),
        6 => get(of("/assets?isCritical=true&limit=1&offset=1"), Some(at)),
        7 => get(of("/scores"), Some(at)),
        8 => get(of("/risks"), Some(at)),
        9 => get(of("/risks?severity=critical"), Some(at)),
        10 => get(of("/compliance"), Some(at)),
        11 => get(of("/compliance/CMMC_L1"), Some(at)),
        12 => ("POST", "/assets".to_owned(), own_asset(), Some(at)),
        _ => {
            let body = json!({"name": own.canary, "owner": own.canary, "clientId": own.id});
            ("PUT", format!("/assets/{asset_id}"), body, Some(at))
        }
    }
}

fn whole(answer: &Answer) -> String {
    let headers = answer.headers.iter().map(|(name, value)| format!("{name}: {value}\n"));
    headers.chain([answer.text()]).collect()
}

fn ask(posture: &Posture, key: &str, method: &str, path: &str, body: &Value) -> Answer {
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let headers = [("X-API-Key", key), ("Content-Type", "application/json")];
    send(posture.address, method, &format!("/api/v1{path}"), &headers, &body)
}

#[test]
fn no_answer_holds_what_is_another_clients() {
    let posture = Posture::start();
    let free = posture.key();
    let tenants: Vec<_> = (0..N_CLIENTS).map(|it| tenant(&posture, &free, it)).collect();
    let holders = holders(&posture, &tenants);
    let everybody: Vec<_> = (0..N_CLIENTS).collect();
    let mut random = Random::from_seed(SEED);
    let (mut n_allowed, mut n_refused, mut n_shown) = (0, 0, 0);
    for n in 0..N_PROBES {
        let holder = &holders[pick(&mut random, holders.len())];
        // Half aim at one's own: what is kept from that must not reach the next.
        let aims = if random.below(2) == 0 { &holder.tenants } else { &everybody };
        let (method, path, body, at) = probe(&mut random, &tenants, holder, aims);
        let answer = ask(&posture, &holder.key, method, &path, &body);
        let is_allowed = at.is_none_or(|it| holder.tenants.contains(&it));
        let expected = if is_allowed { 200 } else { 403 };
        let about = format!("probe {n}: {method} {path} by {:?}", holder.tenants);
        assert!(answer.status == expected || (is_allowed && answer.status == 201), "{about}");
        *(if is_allowed { &mut n_allowed } else { &mut n_refused }) += 1;
        let text = whole(&answer);
        for (index, tenant) in tenants.iter().enumerate() {
            if holder.tenants.contains(&index) {
                n_shown += usize::from(text.contains(&tenant.canary));
            } else {
                assert!(!text.contains(&tenant.canary), "{about} shows {index}");
                let named = path.contains(&tenant.id) || body.to_string().contains(&tenant.id);
                assert!(named || !text.contains(&tenant.id), "{about} names {index}");
            }
        }
    }
    assert!(500 < n_allowed.min(n_refused), "{n_allowed} allowed, {n_refused} refused");
    assert!(500 < n_shown, "canaries do sing: {n_shown}");
    assert_kept_apart(&posture, &free, &tenants);
}

/// After all probes each client holds its own canary alone, and so do its events.
fn assert_kept_apart(posture: &Posture, free: &str, tenants: &[Tenant]) {
    for (index, tenant) in tenants.iter().enumerate() {
        let mut text = String::new();
        for rest in ["", "/assets", "/risks", "/compliance/CMMC_L1"] {
            text += &posture.get(free, &format!("/clients/{}{rest}", tenant.id)).text();
        }
        for (other, it) in tenants.iter().enumerate() {
            assert_eq!(text.contains(&it.canary), other == index, "{index} and {other}");
        }
    }
    let events = posture.events();
    assert!(N_CLIENTS * 4 < events.len());
    for event in events {
        let text = event.to_string();
        for tenant in tenants {
            let is_of = event["data"]["clientId"] == tenant.id.as_str();
            assert!(is_of || !text.contains(&tenant.canary), "{}", event["type"]);
        }
    }
}
