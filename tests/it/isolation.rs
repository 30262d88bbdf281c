//! What is one client's never shows in what a key of another gets.

use std::collections::{BTreeSet, HashMap};
use std::iter::Sum;
use std::ops::Range;
use std::thread::scope;

use serde_json::{Value, json};

use crate::harness::backend::Random;
use crate::harness::process::Line;
use crate::harness::{Answer, Posture};

/// Clients and probes.
const SHORT: (usize, usize) = (20, 3_000);
/// With `POSTURE_ISOLATION=long`.
const LONG: (usize, usize) = (10_000, 1_000_000);
/// Each on a connection of its own.
const N_CALLERS: usize = 8;
const SEED: u64 = 20_260_310;
/// On one connection, which the server closes after ten minutes.
const N_PROBES_OF_CONNECTION: usize = 1_000;
/// What each canary begins with.
const CANARY: &str = "canary";
/// How many holders export what they may.
const N_EXPORTS: usize = 8;
/// Characters of an id as text.
const N_ID: usize = 36;

struct Tenant {
    id: String,
    /// In every text that this client has.
    canary: String,
    assets: Vec<String>,
}

/// All tenants, also by what shows them.
struct Tenants {
    all: Vec<Tenant>,
    by_canary: HashMap<String, usize>,
    by_id: HashMap<String, usize>,
}

impl Tenants {
    fn new(all: Vec<Tenant>) -> Self {
        let by = |of: fn(&Tenant) -> &String| {
            all.iter().enumerate().map(|(index, it)| (of(it).clone(), index)).collect()
        };
        let (by_canary, by_id) = (by(|it| &it.canary), by(|it| &it.id));
        Self { all, by_canary, by_id }
    }

    /// Whose canaries are in this text.
    fn sung(&self, text: &str) -> Vec<usize> {
        let starts = text.match_indices(CANARY).map(|it| it.0);
        let whole = |start: usize| {
            let rest = &text[start..];
            let end = rest.find(|it: char| !it.is_ascii_alphanumeric()).unwrap_or(rest.len());
            self.by_canary[&rest[..end]]
        };
        starts.map(whole).collect()
    }

    /// Whose ids are in this text.
    fn named(&self, text: &str) -> Vec<usize> {
        let ids = text.split(|it: char| it != '-' && !it.is_ascii_hexdigit());
        ids.filter(|it| it.len() == N_ID).filter_map(|it| self.by_id.get(it).copied()).collect()
    }
}

/// How many probes came to what.
#[derive(Default)]
struct Tally {
    allowed: usize,
    refused: usize,
    /// Answers with a canary of the own.
    shown: usize,
}

impl Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, it| Self {
            allowed: sum.allowed + it.allowed,
            refused: sum.refused + it.refused,
            shown: sum.shown + it.shown,
        })
    }
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

/// What the callers have of `0..n`, each an equal part.
fn parts(n: usize) -> impl Iterator<Item = Range<usize>> {
    (0..N_CALLERS).map(move |it| n * it / N_CALLERS..n * (it + 1) / N_CALLERS)
}

fn tenant(posture: &Posture, key: &str, index: usize) -> Tenant {
    let random = Random::from_seed(index as u64).below(1 << 32);
    let canary = format!("{CANARY}{index:05}x{random:08x}");
    let id = posture.client_with(&json!({
        "name": canary, "industry": canary, "settings": {"own": {"note": canary}},
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

fn tenants(posture: &Posture, key: &str, n: usize) -> Tenants {
    let all = scope(|scope| {
        let add = |it: Range<usize>| it.map(|it| tenant(posture, key, it)).collect::<Vec<_>>();
        let adders: Vec<_> = parts(n).map(|it| scope.spawn(move || add(it))).collect();
        adders.into_iter().flat_map(|it| it.join().unwrap()).collect()
    });
    Tenants::new(all)
}

/// One holder of each tenant alone, and some of several.
fn holders(posture: &Posture, Tenants { all: tenants, .. }: &Tenants) -> Vec<Holder> {
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
    let v1 = |rest: &str| format!("/api/v1{rest}");
    let of = |rest: &str| v1(&format!("/clients/{}{rest}", target.id));
    let get = |path: String, at| ("GET", path, Value::Null, at);
    let (n, after) = (1 + pick(random, 20), pick(random, 6 * tenants.len()));
    match pick(random, 25) {
        0 => get(v1("/clients"), None),
        1 => get(v1(&format!("/clients?limit=3&offset={}", pick(random, 5))), None),
        2 => get(v1(&format!("/clients?industry={}", target.canary)), None),
        3 => get(of(""), Some(at)),
        4 => get(of("/assets"), Some(at)),
        5 => get(of(&format!("/assets?category={}", own.canary)), Some(at)),
        6 => get(of("/assets?isCritical=true&limit=1&offset=1"), Some(at)),
        7 => get(of("/scores"), Some(at)),
        8 => get(of("/risks"), Some(at)),
        9 => get(of("/risks?severity=critical"), Some(at)),
        10 => get(of("/compliance"), Some(at)),
        11 => get(of("/compliance/CMMC_L1"), Some(at)),
        12 => ("POST", v1("/assets"), own_asset(), Some(at)),
        13 => {
            let body = json!({"name": own.canary, "owner": own.canary, "clientId": own.id});
            ("PUT", v1(&format!("/assets/{asset_id}")), body, Some(at))
        }
        14 => get(format!("/api/portfolio/scores?limit={n}"), None),
        15 => get(format!("/api/portfolio/scores?after={}", target.id), None),
        16 => get(format!("/api/portfolio/risks?limit={n}"), None),
        17 => get(format!("/api/portfolio/risks?after={0}/{0}", target.id), None),
        18 => get(format!("/api/events?limit={n}&after={after}"), None),
        19 => get(format!("/api/events?clientId={}", target.id), Some(at)),
        20 => get(format!("/api/changes?limit={n}&after={after}"), None),
        21 => get(format!("/api/changes?clientId={}", target.id), Some(at)),
        22 => get(format!("/api/conditions?limit={n}"), None),
        23 => get(format!("/api/conditions?clientId={}", target.id), Some(at)),
        _ => get(format!("/api/clients/{}/observations?limit={n}", target.id), Some(at)),
    }
}

fn whole(answer: &Answer) -> String {
    let headers = answer.headers.iter().map(|(name, value)| format!("{name}: {value}\n"));
    headers.chain([answer.text()]).collect()
}

/// Asks for `n` random probes, and looks at all of each answer.
fn ask(
    posture: &Posture,
    (tenants, holders, everybody): (&Tenants, &[Holder], &[usize]),
    (seed, n): (u64, usize),
) -> Tally {
    let (mut random, mut tally) = (Random::from_seed(seed), Tally::default());
    let mut line = Line::to(posture.address).unwrap();
    for n in 0..n {
        if n % N_PROBES_OF_CONNECTION == 0 {
            line = Line::to(posture.address).unwrap();
        }
        let holder = &holders[pick(&mut random, holders.len())];
        // Half aim at one's own: what is kept from that must not reach the next.
        let aims = if random.below(2) == 0 { holder.tenants.as_slice() } else { everybody };
        let (method, path, body, at) = probe(&mut random, &tenants.all, holder, aims);
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let answer = line.ask(method, &path, &holder.key, &text).unwrap();
        let is_allowed = at.is_none_or(|it| holder.tenants.contains(&it));
        let expected = if is_allowed { 200 } else { 403 };
        let about = format!("probe {n} of {seed}: {method} {path} by {:?}", holder.tenants);
        assert!(
            answer.status == expected || (is_allowed && answer.status == 201),
            "{about}: {} {}",
            answer.status,
            answer.text()
        );
        *(if is_allowed { &mut tally.allowed } else { &mut tally.refused }) += 1;
        let answer = whole(&answer);
        let sung = tenants.sung(&answer);
        tally.shown += usize::from(!sung.is_empty());
        assert!(sung.iter().all(|it| holder.tenants.contains(it)), "{about} shows {answer}");
        // What the caller named itself may come back.
        let asked = tenants.named(&format!("{path} {text}"));
        let is_known = |it: &usize| holder.tenants.contains(it) || asked.contains(it);
        assert!(tenants.named(&answer).iter().all(is_known), "{about} names {answer}");
    }
    tally
}

#[test]
fn no_answer_holds_what_is_another_clients() {
    let is_long = std::env::var_os("POSTURE_ISOLATION").is_some_and(|it| it == "long");
    let (n_clients, n_probes) = if is_long { LONG } else { SHORT };
    let posture = Posture::start();
    let free = posture.key();
    let tenants = tenants(&posture, &free, n_clients);
    let holders = holders(&posture, &tenants);
    let everybody: Vec<_> = (0..n_clients).collect();
    let who = (&tenants, holders.as_slice(), everybody.as_slice());
    let tally: Tally = scope(|scope| {
        let posture = &posture;
        let ask = move |(part, it): (usize, Range<usize>)| {
            scope.spawn(move || ask(posture, who, (SEED + part as u64, it.len())))
        };
        let callers: Vec<_> = parts(n_probes).enumerate().map(ask).collect();
        callers.into_iter().map(|it| it.join().unwrap()).sum()
    });
    let Tally { allowed, refused, shown } = tally;
    println!(
        "{n_clients} clients: {allowed} probes allowed, {refused} refused, {shown} showed the own, 0 another's"
    );
    assert!(n_probes / 6 < allowed.min(refused), "{allowed} allowed, {refused} refused");
    assert!(n_probes / 6 < shown, "canaries do sing: {shown}");
    for holder in holders.iter().rev().take(N_EXPORTS) {
        assert_export_is_own(&posture, &tenants, holder);
    }
    assert_kept_apart(&posture, &free, &tenants);
}

/// The export of what a holder may see is of its tenants alone, and that of another is refused.
fn assert_export_is_own(posture: &Posture, tenants: &Tenants, holder: &Holder) {
    let export = |path: &str| posture.fetch(&holder.key, path);
    let own: BTreeSet<_> = holder.tenants.iter().copied().collect();
    let all = export("/api/export").text();
    assert!(all.contains("\"kind\":\"end\""), "it is complete");
    let (sung, named) = (tenants.sung(&all), tenants.named(&all));
    assert_eq!(sung.into_iter().collect::<BTreeSet<_>>(), own);
    assert_eq!(named.into_iter().collect::<BTreeSet<_>>(), own);
    let other = (0..tenants.all.len()).find(|it| !own.contains(it)).unwrap();
    let foreign = export(&format!("/api/clients/{}/export", tenants.all[other].id));
    assert_eq!(foreign.status, 403, "{}", foreign.text());
}

/// After all probes each client holds its own canary alone, and so do its events.
fn assert_kept_apart(posture: &Posture, free: &str, tenants: &Tenants) {
    for (index, tenant) in tenants.all.iter().enumerate() {
        let mut text = String::new();
        for rest in ["", "/assets", "/risks", "/compliance/CMMC_L1"] {
            text += &posture.get(free, &format!("/clients/{}{rest}", tenant.id)).text();
        }
        let sung = tenants.sung(&text);
        assert!(!sung.is_empty() && sung.iter().all(|it| *it == index), "{index}: {sung:?}");
    }
    let events = posture.events();
    assert!(tenants.all.len() * 4 < events.len());
    for event in events {
        let index = tenants.by_id[event["data"]["clientId"].as_str().unwrap()];
        let sung = tenants.sung(&event.to_string());
        assert!(sung.iter().all(|it| *it == index), "{}", event["type"]);
    }
}
