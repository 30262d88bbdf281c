//! The effective configuration as TOML.

use std::fmt::Write;

use super::options::Config;
use super::reader::section_of;
use crate::text::visible;

/// Every key with its value in effect, and where a value that is not the default came from. Reading the result gives the
/// same values.
#[must_use]
pub fn show(options: &Config) -> String {
    let mut text = match &options.file {
        Some(path) => format!("# Read from {}.\n", visible(&path.display().to_string())),
        None => "# No file was read: these are the defaults.\n".to_owned(),
    };
    let mut section = "";
    for setting in &options.settings {
        let (here, key) = (section_of(setting.key), setting.key.rsplit('.').next().unwrap_or(""));
        if here != section {
            section = here;
            write!(text, "\n[{section}]\n").expect("a String takes everything");
        }
        let origin = setting.origin.as_ref();
        let origin = origin.map_or(String::new(), |it| format!("  # {}", visible(it)));
        match &setting.value {
            Some(value) => writeln!(text, "{key} = {value}{origin}"),
            None => writeln!(text, "# {key} is not set"),
        }
        .expect("a String takes everything");
    }
    text
}
