//! Until when vendors publish security updates for operating systems (END-09).
//!
//! The dates are those that the vendors publish for everyone. Support that a client may have bought beyond them is not seen here.
//! A release that is not listed is unknown, never supported.

use super::Os;
use crate::clock::Time;

/// The last day of support, as `2026-10-13`.
type Day = &'static str;

/// A Windows client by build: its last days for Home and Pro, for Enterprise and Education, and as LTSC.
struct WindowsClient {
    build: u32,
    pro: Day,
    enterprise: Day,
    ltsc: Option<Day>,
}

const fn windows(build: u32, pro: Day, enterprise: Day, ltsc: Option<Day>) -> WindowsClient {
    WindowsClient { build, pro, enterprise, ltsc }
}

const WINDOWS_CLIENTS: [WindowsClient; 25] = [
    windows(2600, "2014-04-08", "2014-04-08", None),
    windows(6002, "2017-04-11", "2017-04-11", None),
    windows(7600, "2013-04-09", "2013-04-09", None),
    windows(7601, "2020-01-14", "2020-01-14", None),
    windows(9200, "2016-01-12", "2016-01-12", None),
    windows(9600, "2023-01-10", "2023-01-10", None),
    windows(10240, "2017-05-09", "2017-05-09", Some("2025-10-14")),
    windows(10586, "2017-10-10", "2018-04-10", None),
    windows(14393, "2018-04-10", "2019-04-09", Some("2026-10-13")),
    windows(15063, "2018-10-09", "2019-10-08", None),
    windows(16299, "2019-04-09", "2020-10-13", None),
    windows(17134, "2019-11-12", "2021-05-11", None),
    windows(17763, "2020-11-10", "2021-05-11", Some("2029-01-09")),
    windows(18362, "2020-12-08", "2020-12-08", None),
    windows(18363, "2021-05-11", "2022-05-10", None),
    windows(19041, "2021-12-14", "2021-12-14", None),
    windows(19042, "2022-05-10", "2023-05-09", None),
    windows(19043, "2022-12-13", "2022-12-13", None),
    windows(19044, "2023-06-13", "2024-06-11", Some("2027-01-12")),
    windows(19045, "2025-10-14", "2025-10-14", None),
    windows(22000, "2023-10-10", "2024-10-08", None),
    windows(22621, "2024-10-08", "2025-10-14", None),
    windows(22631, "2025-11-11", "2026-11-10", None),
    windows(26100, "2026-10-13", "2027-10-12", Some("2029-10-09")),
    windows(26200, "2027-10-12", "2028-10-10", None),
];

/// Names of Windows clients of which every release but LTSC has ended, for a name without a build.
const WINDOWS_NAMES: [(&str, Day); 6] = [
    ("windows xp", "2014-04-08"),
    ("windows vista", "2017-04-11"),
    ("windows 7", "2020-01-14"),
    ("windows 8.1", "2023-01-10"),
    ("windows 8", "2016-01-12"),
    ("windows 10", "2025-10-14"),
];

/// By the year in the name. R2 ends with the one before it.
const WINDOWS_SERVERS: [(&str, Day); 8] = [
    ("2003", "2015-07-14"),
    ("2008", "2020-01-14"),
    ("2012", "2023-10-10"),
    ("2016", "2027-01-12"),
    ("2019", "2029-01-09"),
    ("2022", "2031-10-14"),
    ("2025", "2034-10-10"),
    ("2000", "2010-07-13"),
];
/// Builds of servers whose name has no year.
const WINDOWS_SERVER_BUILDS: [(u32, Day); 10] = [
    (16299, "2019-04-09"),
    (17134, "2019-11-12"),
    (18362, "2020-12-08"),
    (18363, "2021-05-11"),
    (19041, "2021-12-14"),
    (19042, "2022-08-09"),
    (14393, "2027-01-12"),
    (20348, "2031-10-14"),
    (25398, "2025-10-24"),
    (26100, "2034-10-10"),
];

/// Apple announces no dates. A release ends when the third one after it comes, in the middle of September.
const MACOS: [(u32, Day); 8] = [
    (10, "2022-09-12"),
    (11, "2023-09-26"),
    (12, "2024-09-16"),
    (13, "2025-09-15"),
    (14, "2026-09-14"),
    (15, "2027-09-13"),
    (26, "2028-09-11"),
    (27, "2029-09-10"),
];
/// Kernel versions that are no versions of macOS, with the release that has them.
const DARWIN: [(u32, u32); 9] =
    [(17, 10), (18, 10), (19, 10), (20, 11), (21, 12), (22, 13), (23, 14), (24, 15), (25, 26)];

struct Distribution {
    /// What its name has, in lower case.
    name: &'static str,
    /// How many numbers of a version tell its releases apart.
    n_numbers: usize,
    /// With the last day of free updates: for Debian, those of its LTS team.
    releases: &'static [(&'static str, Day)],
}

/// The first one whose name fits counts.
const DISTRIBUTIONS: [Distribution; 7] = [
    Distribution {
        name: "ubuntu",
        n_numbers: 2,
        releases: &[
            ("12.04", "2017-04-28"),
            ("14.04", "2019-04-02"),
            ("16.04", "2021-04-02"),
            ("18.04", "2023-05-31"),
            ("20.04", "2025-05-31"),
            ("22.04", "2027-04-01"),
            ("22.10", "2023-07-20"),
            ("23.04", "2024-01-20"),
            ("23.10", "2024-07-12"),
            ("24.04", "2029-05-31"),
            ("24.10", "2025-07-10"),
            ("25.04", "2026-01-17"),
            ("25.10", "2026-07-01"),
            ("26.04", "2031-04-30"),
        ],
    },
    Distribution {
        name: "debian",
        n_numbers: 1,
        releases: &[
            ("7", "2018-05-31"),
            ("8", "2020-06-30"),
            ("9", "2022-07-01"),
            ("10", "2024-06-30"),
            ("11", "2026-08-31"),
            ("12", "2028-06-10"),
            ("13", "2030-06-30"),
        ],
    },
    Distribution {
        name: "centos stream",
        n_numbers: 1,
        releases: &[("8", "2024-05-31"), ("9", "2027-05-31")],
    },
    Distribution {
        name: "centos",
        n_numbers: 1,
        releases: &[("6", "2020-11-30"), ("7", "2024-06-30"), ("8", "2021-12-31")],
    },
    Distribution {
        name: "red hat enterprise",
        n_numbers: 1,
        releases: &[
            ("6", "2020-11-30"),
            ("7", "2024-06-30"),
            ("8", "2029-05-31"),
            ("9", "2032-05-31"),
            ("10", "2035-05-31"),
        ],
    },
    Distribution {
        name: "rocky",
        n_numbers: 1,
        releases: &[("8", "2029-05-31"), ("9", "2032-05-31"), ("10", "2035-05-31")],
    },
    Distribution {
        name: "almalinux",
        n_numbers: 1,
        releases: &[("8", "2029-03-01"), ("9", "2032-05-31"), ("10", "2035-05-31")],
    },
];

/// Returns true if the vendor still publishes security updates. `None`: unknown.
pub(super) fn is_supported(os: &Os, at: Time) -> Option<bool> {
    let part = |it: &Option<String>| it.as_deref().unwrap_or_default().to_lowercase();
    let (name, version) = (part(&os.name), part(&os.version));
    let text = format!("{name} {version}");
    let today: String = at.to_string().chars().take("2026-10-13".len()).collect();
    let lasts = |day: Day| *today <= *day;
    if text.contains("windows") {
        let build = build_of(&format!("{text} build {}", part(&os.build)));
        if text.contains("server") {
            return server(&text, build).map(lasts);
        }
        return client(&text, build, lasts);
    }
    if let Some(at) = ["macos", "mac os", "os x"].iter().find_map(|it| text.find(it)) {
        return macos(major(&text[at..])?).map(lasts);
    }
    if let Some(at) = text.find("darwin") {
        let number = major(&text[at..])?;
        let kernel = DARWIN.iter().find(|(kernel, _)| *kernel == number);
        return macos(kernel.map_or(number, |(_, release)| *release)).map(lasts);
    }
    let fits = |it: &&Distribution| text.contains(it.name);
    let distribution = DISTRIBUTIONS.iter().find(fits)?;
    let at = text.find(distribution.name)?;
    let numbers = numbers(&text[at..])?;
    let release = numbers.split('.').take(distribution.n_numbers).collect::<Vec<_>>().join(".");
    let known = distribution.releases.iter().find(|(it, _)| *it == release);
    known.map(|(_, day)| lasts(day))
}

fn server(text: &str, build: Option<u32>) -> Option<Day> {
    let has = |year: &str| text.split(|it: char| !it.is_ascii_digit()).any(|it| it == year);
    let named = WINDOWS_SERVERS.iter().find(|(year, _)| has(year));
    let by_build = || WINDOWS_SERVER_BUILDS.iter().find(|(it, _)| Some(*it) == build);
    named.map(|(_, day)| *day).or_else(|| by_build().map(|(_, day)| *day))
}

/// Where the edition is not known, the answer is the one that holds for each.
fn client(text: &str, build: Option<u32>, lasts: impl Fn(Day) -> bool) -> Option<bool> {
    let has = |words: &[&str]| words.iter().any(|it| text.contains(it));
    let is_ltsc = has(&["ltsc", "ltsb"]);
    let Some(found) = WINDOWS_CLIENTS.iter().find(|it| Some(it.build) == build) else {
        let named = WINDOWS_NAMES.iter().find(|(name, _)| text.contains(name));
        let is_final = build.is_none() && !is_ltsc;
        return named.filter(|_| is_final).map(|(_, day)| lasts(day));
    };
    if is_ltsc {
        return found.ltsc.map(lasts);
    }
    if has(&["enterprise", "education"]) && !has(&["pro education"]) {
        return Some(lasts(found.enterprise));
    }
    if has(&[" pro", " home"]) {
        return Some(lasts(found.pro));
    }
    let is_first = lasts(found.pro);
    let is_last = lasts(found.ltsc.unwrap_or(found.enterprise).max(found.enterprise));
    (is_first == is_last).then_some(is_first)
}

fn macos(release: u32) -> Option<Day> {
    MACOS.iter().find(|(it, _)| *it == release).map(|(_, day)| *day)
}

/// The build that a text names: after `build`, or as the third number of a version such as `10.0.22631.3447`.
fn build_of(text: &str) -> Option<u32> {
    let words: Vec<&str> = text
        .split(|it: char| !it.is_ascii_alphanumeric() && it != '.')
        .filter(|it| !it.is_empty())
        .collect();
    let mut pairs = words.windows(2).filter(|it| it[0] == "build");
    let named = pairs.find_map(|it| build_number(it[1]));
    let mut versions = words.iter().filter(|it| 2 <= it.matches('.').count());
    named.or_else(|| versions.find_map(|it| build_number(it)))
}

/// `22631`, `22631.3447` or `10.0.22631.3447`.
fn build_number(text: &str) -> Option<u32> {
    let mut parts = text.split('.').filter_map(|it| it.parse().ok());
    parts.find(|it| 2_000 < *it)
}

/// The first number in a text, with what follows its points.
fn numbers(text: &str) -> Option<&str> {
    let is_part = |it: char| it.is_ascii_digit() || it == '.';
    text.split(|it| !is_part(it)).find(|it| it.starts_with(|it: char| it.is_ascii_digit()))
}

fn major(text: &str) -> Option<u32> {
    numbers(text)?.split('.').next()?.parse().ok()
}
