//! The people of the made-up clients, and of the MSP.

use super::portfolio::DemoClient;

const FIRST: [&str; 24] = [
    "Amara", "Ben", "Carla", "Dmitri", "Elena", "Farid", "Grace", "Hugo", "Ines", "Jamal", "Keiko",
    "Liam", "Mei", "Nadia", "Oscar", "Priya", "Quinn", "Rosa", "Samuel", "Tara", "Umar", "Vera",
    "Wendy", "Yusuf",
];
const LAST: [&str; 24] = [
    "Abbott", "Bianchi", "Castillo", "Duval", "Eriksen", "Fischer", "Goldberg", "Huang", "Ibarra",
    "Jensen", "Kowalski", "Laurent", "Moreno", "Novak", "Okafor", "Park", "Quigley", "Rossi",
    "Singh", "Tanaka", "Ueda", "Vance", "Walsh", "Young",
];

/// Who does what at the MSP.
pub(super) const OWNER: &str = "Maya Lindqvist";
pub(super) const ENGINEER: &str = "Tomas Berg";
pub(super) const ADVISER: &str = "Priya Raman";

/// The name of an employee. Those of one client differ as long as there are fewer than 576.
pub(super) fn name(client: &DemoClient, index: usize) -> String {
    let shift = usize::try_from(client.chance("people", 24)).unwrap_or(0);
    let first = (index * 5 + shift) % FIRST.len();
    let last = (index / FIRST.len() + first * 7 + shift) % LAST.len();
    format!("{} {}", FIRST[first], LAST[last])
}

/// The name with which an employee signs in.
pub(super) fn account(client: &DemoClient, index: usize) -> String {
    let name = name(client, index).to_lowercase().replace(' ', ".");
    format!("{name}@{}", client.domain())
}

/// The employees who administer the client's cloud. The first two also do other work.
pub(super) fn administrators(client: &DemoClient) -> Vec<String> {
    let n = if client.employees < 40 { 2 } else { 4 };
    (0..n).map(|it| account(client, it)).collect()
}

/// How many accounts the client has.
pub(super) fn n_accounts(client: &DemoClient) -> usize {
    client.employees as usize
}
