//! The law of every connection: less that is read never shows more.
//!
//! A vendor is read once as it is, and again with each stream denied, failing and marked as cut off. From an empty history, no
//! fault improves a control or closes a risk as fixed; after a run that read everything, none does either. What a stream lacks
//! without a mark, nobody can see here. `-- --nocapture` shows how much was tried.

mod ad;
mod aws;
mod azure;
mod dns;
mod google;
mod m365;
mod tool;

use std::collections::BTreeSet;
use std::iter;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use posture::clock::{Clock, Time};
use posture::connect::reading::{Group, Reading, StreamState};
use posture::engine::catalog::Catalog;
use posture::engine::change::{Before, Change, RiskEnding, difference};
use posture::engine::fact::{
    CompleteRead, DERIVED_CHECK, Facts, Observation, Profile, SourceFacts, Status, Subject,
};
use posture::engine::memory::sparse::SparseMemory;
use posture::engine::posture::{ControlOutcome, Posture};
use posture::engine::severity::Severity;
use posture::engine::{assess, identity};
use posture::id::ImportId;

use crate::harness::catalog;

const SOURCE: &str = "law";
const DORMANT_DAYS: u16 = 90;

/// How a stream is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    Denied,
    Failing,
    /// A part of it comes, and then what says that there is more.
    Cut,
}

impl Fault {
    pub const ALL: [Self; 3] = [Self::Denied, Self::Failing, Self::Cut];
}

/// Reads that are under way at the same time. Most of a read that fails is waiting.
const N_LANES: usize = 96;

/// What becomes of each case, in their order.
pub fn each<T: Sync, R: Send>(cases: &[T], read: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let lane = || {
        let mut done = Vec::new();
        loop {
            let nth = next.fetch_add(1, Ordering::SeqCst);
            let Some(case) = cases.get(nth) else { return done };
            done.push((nth, read(case)));
        }
    };
    let mut all = thread::scope(|scope| {
        let lanes: Vec<_> = (0..N_LANES.min(cases.len())).map(|_| scope.spawn(lane)).collect();
        lanes.into_iter().flat_map(|it| it.join().unwrap()).collect::<Vec<_>>()
    });
    all.sort_by_key(|it| it.0);
    all.into_iter().map(|it| it.1).collect()
}

/// The body of an answer with its head.
pub fn body(answer: &[u8]) -> &[u8] {
    let at = answer.windows(4).position(|it| it == b"\r\n\r\n").unwrap();
    &answer[at + 4..]
}

/// Without frameworks, which follow from controls and take most of the time.
fn controls() -> &'static Catalog {
    static CONTROLS: LazyLock<Catalog> =
        LazyLock::new(|| Catalog { frameworks: Vec::new(), ..catalog().clone() });
    &CONTROLS
}

/// What a run brings to one client: of a tool, the parts of its first organization, after those that say how all was read.
pub fn groups(reading: Reading) -> Vec<Group> {
    let first = reading.orgs.into_iter().flatten().next();
    let of_client = first.map(|it| it.groups).unwrap_or_default();
    reading.groups.into_iter().chain(of_client).collect()
}

/// What a run tells a client that knows nothing else, as [`posture::app`] takes it: only a part that says all that there is
/// replaces what was known of it.
fn told(groups: &[Group], at: Time) -> SourceFacts {
    let mut facts = SourceFacts::default();
    for group in groups.iter().filter(|it| !it.scope.is_empty()) {
        let import = ImportId::random();
        let seen = |code: &str, check: &str, verdict| Observation {
            subject: Subject::Control(code.to_owned()),
            source: SOURCE.to_owned(),
            scope: group.scope.clone(),
            check: check.to_owned(),
            observed_at: at,
            valid_until: None,
            import,
            verdict,
            accepted: 0,
            severity: Severity::Medium,
            title: String::new(),
            findings: None,
            remediation: None,
            failing: Vec::new(),
            memory: SparseMemory::default(),
            facets: Vec::new(),
            platform: None,
        };
        let mut read = |is_of_accounts, n: usize| {
            let (source, scope) = (SOURCE.to_owned(), group.scope.clone());
            let n = u32::try_from(n).unwrap();
            facts.reads.push(CompleteRead { source, scope, is_of_accounts, at, import, n });
        };
        let judged = group.observations.iter();
        let judged = judged.filter_map(|it| Some(seen(it.control, &it.check, it.verdict()?)));
        facts.observations.extend(judged);
        if group.is_whole {
            read(false, group.observations.len());
        }
        if let Some(accounts) = &group.accounts {
            let derived = identity::verdicts(accounts, at, DORMANT_DAYS, |_| 35);
            let derived = derived.iter().map(|it| seen(it.code, DERIVED_CHECK, it.verdict));
            facts.observations.extend(derived);
            read(true, accounts.len());
        }
    }
    facts
}

fn posture(facts: &SourceFacts, now: Time) -> Posture {
    let profile = Profile::new();
    let SourceFacts { observations, reads } = facts;
    assess(controls(), &Facts { observations, reads, now, ..Facts::none(&profile) })
}

/// What comes to be known where something else was known before.
fn after(before: &World, groups: &[Group], at: Time) -> Posture {
    let SourceFacts { mut observations, mut reads } = told(groups, at);
    observations.extend(before.facts.observations.iter().cloned());
    reads.extend(before.facts.reads.iter().cloned());
    posture(&SourceFacts { observations, reads }, at)
}

/// A client of which everything was read.
pub struct World {
    name: &'static str,
    groups: Vec<Group>,
    at: Time,
    facts: SourceFacts,
    posture: Posture,
}

impl World {
    pub fn new(name: &'static str, groups: Vec<Group>, at: Time) -> Self {
        let is_read =
            |it: &StreamState| matches!(it, StreamState::Complete | StreamState::Unlicensed);
        let unread = groups.iter().flat_map(|it| &it.streams).find(|it| !is_read(&it.state));
        assert_eq!(unread, None, "{name}");
        let facts = told(&groups, at);
        let posture = posture(&facts, at);
        assert!(posture.has_evidence, "{name}: {groups:?}");
        Self { name, groups, at, facts, posture }
    }

    fn decided(&self) -> impl Iterator<Item = &ControlOutcome> + Clone {
        self.posture.controls.iter().filter(|it| it.status != Status::NotAssessed)
    }
}

/// Worst first. `None`: nothing is said.
fn rank(status: Status) -> Option<u8> {
    match status {
        Status::NonCompliant => Some(0),
        Status::Partial => Some(1),
        Status::Compliant => Some(2),
        Status::NotAssessed | Status::NotApplicable => None,
    }
}

/// The controls that look better than they are, as sentences.
fn better(truth: &Posture, now: &Posture) -> Vec<String> {
    let pairs = truth.controls.iter().zip(&now.controls);
    let is_better = |truth: &ControlOutcome, now: &ControlOutcome| {
        let is_status = rank(now.status).is_some_and(|now| match rank(truth.status) {
            Some(truth) => truth < now,
            // Of what nothing is known, a failure alone may be said.
            None => now != 0,
        });
        is_status || truth.score.unwrap_or(0) < now.score.unwrap_or(0)
    };
    let found = pairs.filter(|(truth, now)| is_better(truth, now));
    let shown = |it: &ControlOutcome| {
        let score = it.score.map(|it| format!(" {it}")).unwrap_or_default();
        format!("{}{score}", it.status.as_str())
    };
    found.map(|(truth, now)| format!("{}: {} for {}", now.code, shown(now), shown(truth))).collect()
}

/// The conditions of risks that are said to be over, and those of them that are said to be fixed.
fn closed(before: &Posture, after: &Posture) -> (BTreeSet<String>, BTreeSet<String>) {
    let before = Before::of(before, controls());
    let changes = difference(controls(), Some(&before), after, &[]);
    let closed = changes.into_iter().filter_map(|it| {
        let Change::RiskClosed { risk, resolution } = it else { return None };
        Some((risk.condition, resolution))
    });
    let closed: Vec<_> = closed.collect();
    let fixed = closed.iter().filter(|it| it.1 == RiskEnding::Fixed).map(|it| it.0.clone());
    let fixed = fixed.collect();
    (closed.into_iter().map(|it| it.0).collect(), fixed)
}

/// Reads each world of a vendor as it is and with each fault, each with its name, and holds the vendor to the law.
pub fn drive<W: Sync, F: Sync>(
    vendor: &'static str,
    worlds: &[(&'static str, W)],
    faults: &[(String, F)],
    read: impl Fn(&W, Option<&F>) -> Vec<Group> + Sync,
) -> Law {
    let mut law = Law::of(vendor);
    let at = Clock::System.now();
    let of_world =
        |world| iter::once((world, None)).chain(faults.iter().map(move |it| (world, Some(it))));
    let all: Vec<_> = worlds.iter().flat_map(of_world).collect();
    let found = each(&all, |(world, fault)| read(&world.1, fault.map(|it| &it.1)));
    for ((world, fault), groups) in all.iter().zip(found) {
        match fault {
            None => law.add(World::new(world.0, groups, at)),
            Some((name, _)) => law.hold(name, &groups),
        }
    }
    law
}

/// Each of these with each fault.
pub fn faults<T: Clone>(of: &[T], name: impl Fn(&T) -> String) -> Vec<(String, (T, Fault))> {
    let each =
        |it: &T| Fault::ALL.map(|fault| (format!("{} {fault:?}", name(it)), (it.clone(), fault)));
    of.iter().flat_map(each).collect()
}

/// The worlds of a vendor, and what its faults left of the law.
pub struct Law {
    vendor: &'static str,
    began: Instant,
    worlds: Vec<World>,
    streams: BTreeSet<String>,
    n_cases: usize,
    broken: Vec<String>,
}

impl Law {
    pub fn of(vendor: &'static str) -> Self {
        let (worlds, streams, broken) = (Vec::new(), BTreeSet::new(), Vec::new());
        Self { vendor, began: Instant::now(), worlds, streams, n_cases: 0, broken }
    }

    /// The first one is the worst, which also lies before each of the others.
    pub fn add(&mut self, world: World) {
        let streams = world.groups.iter().flat_map(|it| &it.streams);
        self.streams.extend(streams.map(|it| it.name.clone()));
        self.worlds.push(world);
    }

    /// What a fault leaves of the newest world, from an empty history and after runs that read everything.
    pub fn hold(&mut self, fault: &str, groups: &[Group]) {
        self.hold_first(fault, groups);
        let world = self.worlds.last().expect("a world");
        let mut stories = vec![world];
        stories.extend(self.worlds.first().filter(|it| it.name != world.name));
        let mut broken = Vec::new();
        for before in stories {
            let at = before.at.max(world.at).plus_days(1);
            let (truth, now) = (after(before, &world.groups, at), after(before, groups, at));
            // What was known stands, although it is worse by now.
            let than_before = better(&before.posture, &now);
            let than_truth = better(&truth, &now).into_iter();
            let found =
                than_truth.filter(|it| than_before.iter().any(|other| code(other) == code(it)));
            let (truly_closed, truly_fixed) = closed(&before.posture, &truth);
            let (closed, fixed) = closed(&before.posture, &now);
            let fixed = fixed.difference(&truly_fixed).map(|it| format!("{it} is fixed"));
            let closed = closed.difference(&truly_closed).map(|it| format!("{it} is over"));
            let all = found.chain(fixed).chain(closed);
            broken.extend(all.map(|it| format!("after \"{}\": {it}", before.name)));
        }
        let at = format!("{}, {}, {fault}", self.vendor, world.name);
        self.broken.extend(broken.into_iter().map(|it| format!("{at}: {it}")));
    }

    /// The same from an empty history alone.
    pub fn hold_first(&mut self, fault: &str, groups: &[Group]) {
        self.n_cases += 1;
        let world = self.worlds.last().expect("a world");
        let first = posture(&told(groups, world.at), world.at);
        let fixed = first.fixed.iter().map(|it| format!("{it} is fixed"));
        let broken = better(&world.posture, &first).into_iter().chain(fixed);
        let at = format!("{}, {}, {fault}: first run", self.vendor, world.name);
        self.broken.extend(broken.map(|it| format!("{at}: {it}")));
    }

    /// Says how much was tried, and what was broken. `controls`: those that the vendor decides.
    pub fn end<'a>(self, controls: impl IntoIterator<Item = &'a str>) {
        let decided = self.worlds.iter().flat_map(World::decided);
        let failing = decided.clone().filter(|it| it.status != Status::Compliant);
        let [decided, failing]: [BTreeSet<&str>; 2] = [
            decided.map(|it| it.code.as_str()).collect(),
            failing.map(|it| it.code.as_str()).collect(),
        ];
        let (n_worlds, n_controls) = (self.worlds.len(), decided.len());
        let (n_streams, n_cases) = (self.streams.len(), self.n_cases);
        let seconds = self.began.elapsed().as_secs_f32();
        eprintln!(
            "{:<20} | {n_worlds} worlds | {n_controls:>2} controls | {n_streams:>2} streams | {n_cases:>4} cases | {seconds:.1} s",
            self.vendor
        );
        assert!(
            self.broken.is_empty(),
            "{} broken:\n{}",
            self.broken.len(),
            self.broken.join("\n")
        );
        assert!(n_controls != 0 && n_streams != 0 && n_cases != 0 && 2 <= n_worlds);
        assert_eq!(decided, controls.into_iter().collect(), "{}", self.vendor);
        // Something has to be bad to look better, and of this one a vendor says only that it is good.
        let always_met: Vec<_> =
            decided.difference(&failing).filter(|it| **it != "APP-03").collect();
        assert!(always_met.is_empty(), "{}: {always_met:?} fail in no world", self.vendor);
    }
}

/// Of a sentence of [`better`].
fn code(sentence: &str) -> &str {
    sentence.split(':').next().unwrap()
}
