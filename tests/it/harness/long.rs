//! The long forms of tests.

/// Whether they run.
pub fn is_long() -> bool {
    std::env::var_os("POSTURE_LONG").is_some()
}
