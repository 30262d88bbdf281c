//! What no bytes from outside can do. Each target is a plain function that panics if a property does not hold: the suite
//! calls it with seeds and mutations of them (`tests/it/fuzz.rs`), `cargo fuzz` with what it finds (`tests/fuzz/main.rs`).

mod credential;
mod intake;
mod network;
mod packed;

/// One target.
pub type Target = fn(&[u8]);

/// All targets, by the names that `tests/fuzz/Cargo.toml` and the folders in `tests/fuzz/seeds` have.
pub const ALL: [(&str, Target); 12] = [
    ("asff", intake::asff),
    ("banner", network::banner),
    ("certificate", network::certificate),
    ("dns", network::dns),
    ("facts", intake::facts),
    ("key", credential::key),
    ("nmap", intake::nmap),
    ("packed", packed::unpack),
    ("prowler", intake::prowler),
    ("report", intake::about),
    ("token", credential::token),
    ("vulnerability", intake::vulnerability),
];

/// The target of this name.
pub fn named(name: &str) -> Target {
    ALL.into_iter().find(|it| it.0 == name).expect("a target has this name").1
}
