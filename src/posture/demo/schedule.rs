//! When what happens: the slots of half a year, each at its own time of the day.

use xxhash_rust::xxh3::xxh3_64;

use super::portfolio::CLIENTS;
use super::review;
use super::story::{N_WEEKS, Story};
use crate::clock::Time;

/// How many clients are visited together. Each of them has a clock of its own.
pub(super) const N_LANES: usize = 20;
/// All visits of a slot begin within this time.
pub(super) const SPREAD_S: i64 = 300;
/// All visits of a slot end within this time.
pub(super) const SLOT_S: i64 = 600;
/// By how many minutes a slot moves from week to week.
const MOVES_MINUTES: u64 = 150;
const WEEK_DAYS: i64 = 7;
/// Tools that do not run each week run every so many weeks.
const MONTH_WEEKS: u64 = 4;
/// From this week on the remote-management tool and the lists of accounts are read each week. Before, the one every
/// second week and the other every third.
const WEEKLY_FROM: u64 = 20;
/// From this week on there are daily assessments of the clients to keep an eye on.
const DAILY_FROM: u64 = 24;

/// The minute of the day at which clients are added, and that of the daily assessments.
const WELCOME_MINUTE: i64 = 8 * 60 + 25;
const UPKEEP_MINUTE: i64 = 6;

/// What is done at the clients of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// Add the clients that are new.
    Welcome,
    Rmm,
    Accounts,
    Cloud,
    Network,
    Review,
    /// Tasks, attestations, acceptances.
    Desk,
    /// What the service does by itself each day.
    Upkeep,
}

/// Work at some clients at about the same time.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) at: Time,
    pub(super) week: u64,
    pub(super) work: Work,
    /// Indices into the portfolio.
    pub(super) clients: Vec<usize>,
}

impl Work {
    const GROUPED: [Self; 6] =
        [Self::Rmm, Self::Accounts, Self::Cloud, Self::Network, Self::Review, Self::Desk];

    /// The day of the week, from Monday, and the minute of the day of a group of clients.
    const fn time(self, group: i64) -> (i64, i64) {
        match self {
            Self::Rmm => ((group * 3) % WEEK_DAYS, 67),
            Self::Accounts => ((group * 3 + 1) % WEEK_DAYS, 320),
            Self::Review => ((group + 1) % 5, 540),
            Self::Network => ((group + 3) % 5, 705),
            Self::Desk => ((group + 2) % 5, 870),
            Self::Cloud => ((group * 3 + 2) % WEEK_DAYS, 1_205),
            Self::Welcome | Self::Upkeep => (0, 0),
        }
    }

    /// Returns true if it is done at a client in a week.
    fn is_due(self, client: usize, week: u64) -> bool {
        let story = CLIENTS[client].story;
        let group = (client / N_LANES) as u64;
        let monthly = |phase: u64| (week + group + phase).is_multiple_of(MONTH_WEEKS);
        let is_first = week == story.starts_in();
        // A client that is new has no adviser yet, and its site was not visited.
        let is_settled = story.starts_in() == 1;
        match self {
            Self::Welcome => is_first && 1 < week,
            Self::Rmm => {
                let is_turn = week.is_multiple_of(2) || WEEKLY_FROM <= week;
                story.is_reported(week) && (is_first || is_turn)
            }
            Self::Accounts => {
                let is_turn = week.is_multiple_of(3) || WEEKLY_FROM <= week;
                story.is_reported(week) && (is_first || is_turn)
            }
            Self::Cloud => story.is_reported(week) && (is_first || monthly(2)),
            Self::Network => is_settled && story.is_reported(week) && (is_first || monthly(3)),
            Self::Review => is_settled && story.is_reported(week) && (is_first || monthly(0)),
            Self::Desk => is_settled && story.starts_in() <= week,
            Self::Upkeep => {
                let is_silent = matches!(story, Story::Silent { .. }) && !story.is_reported(week);
                is_silent || matches!(story, Story::Falls { .. }) && DAILY_FROM <= week
            }
        }
    }
}

/// The visit of the adviser in a week: when the one before was, in weeks, and whether it is about everything.
pub(super) fn review(client: usize, week: u64) -> (Option<u64>, bool) {
    let visits: Vec<u64> = (1..=week).filter(|it| Work::Review.is_due(client, *it)).collect();
    let before = visits.iter().rev().nth(1).map(|it| week - it);
    let n_between = usize::try_from(review::EVERY_WEEKS / MONTH_WEEKS).unwrap_or(1);
    (before, (visits.len() - 1).is_multiple_of(n_between))
}

/// All slots from the first day on, in order. `start` is a midnight.
pub(super) fn slots(start: Time) -> Vec<Slot> {
    let first_weekday = (i64::from(start.day()) + 3) % WEEK_DAYS;
    let mut slots = Vec::new();
    for (week, weeks_later) in (1..=N_WEEKS).zip(0..) {
        let first_day = WEEK_DAYS * weeks_later;
        let at = |(weekday, minute): (i64, i64), jitter: i64| {
            let day = first_day + (weekday - first_weekday).rem_euclid(WEEK_DAYS);
            start.plus_days(day).plus_s(60 * (minute + jitter))
        };
        let mut add = |at, work: Work, clients: &mut dyn Iterator<Item = usize>| {
            let clients: Vec<usize> = clients.filter(|it| work.is_due(*it, week)).collect();
            if !clients.is_empty() {
                slots.push(Slot { at, week, work, clients });
            }
        };
        let opening = start.plus_days(first_day).plus_s(60 * WELCOME_MINUTE);
        add(opening, Work::Welcome, &mut (0..CLIENTS.len()));
        for work in Work::GROUPED {
            for (group, number) in (0..CLIENTS.len()).step_by(N_LANES).zip(0..) {
                let key = format!("{work:?}/{number}/{week}");
                let jitter = i64::try_from(xxh3_64(key.as_bytes()) % MOVES_MINUTES).unwrap_or(0);
                let time = if week == 1 {
                    // A client is onboarded within a day.
                    start.plus_days(number).plus_s(60 * (work.time(number).1 + jitter))
                } else {
                    at(work.time(number), jitter)
                };
                add(time, work, &mut (group..group + N_LANES));
            }
        }
        let days: &[i64] = if DAILY_FROM <= week { &[0, 1, 2, 3, 4, 5, 6] } else { &[6] };
        for day in days {
            let at = start.plus_days(first_day + day).plus_s(60 * UPKEEP_MINUTE);
            add(at, Work::Upkeep, &mut (0..CLIENTS.len()));
        }
    }
    slots.sort_by_key(|it| it.at);
    slots
}
