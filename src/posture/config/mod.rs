//! The configuration: one TOML file -> options.
//!
//! `posture.toml.example` is embedded and holds the defaults. Lower modules have options of their own and never see these.

mod database;
mod file;
mod mail;
mod oidc;
mod options;
mod reader;
mod rule;
mod show;
mod supervision;

use std::env;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

pub use self::database::DatabaseConfig;
use self::file::utf8;
pub use self::mail::{LoginConfig, MailConfig};
pub use self::oidc::OidcConfig;
pub use self::options::{
    Assessment, AuthConfig, BackupConfig, CertificateConfig, Config, ConnectConfig, DataConfig,
    LimitConfig, Log, LogFormat, LogLevel, Msp, ScanConfig, Server, WebhookConfig,
};
use self::reader::ConfigReader;
pub use self::rule::ByIndustry;
pub use self::show::show;
pub use self::supervision::{Supervision, supervision};
use crate::bounded_file;
use crate::error::{Detail, Error};
pub use crate::toml_reader::Problem;
use crate::toml_reader::TomlDocument;

/// A configuration with every key and its default. A key without a default follows a `#`, with an example.
pub const EXAMPLE: &str = include_str!("../../../posture.toml.example");

/// The environment variable that names the file, unless the command line does.
pub const PATH_VARIABLE: &str = "POSTURE_CONFIG";
/// The file that is read from the working directory if nothing names a file.
pub const FILE_NAME: &str = "posture.toml";
/// A longer file is refused.
pub const FILE_BYTES_MAX: u64 = 1 << 20;

/// The options in effect for this process: those of the file at `path`, or else of the file that [`PATH_VARIABLE`] names,
/// or else of `./posture.toml` if it exists, or else the defaults.
///
/// # Errors
/// `Invalid` when the file cannot be read or breaks a rule. The message has the first problem and the number of others; the
/// details have all of them.
pub fn load(path: Option<&Path>) -> Result<Config, Error> {
    let Some(path) = found(path) else {
        return Ok(Config::default());
    };
    let options = match utf8(&name(&path), &read(&path)?) {
        Ok(text) => parse(&name(&path), text),
        Err(problem) => Err(vec![problem]),
    };
    let options = options.map_err(|problems| refusal(&problems))?;
    Ok(Config { file: Some(path), ..options })
}

/// Every problem of the file that [`load`] would read. Empty if there is no file.
///
/// # Errors
/// `Invalid` when the file cannot be read.
pub fn check(path: Option<&Path>) -> Result<Vec<Problem>, Error> {
    let Some(path) = found(path) else {
        return Ok(Vec::new());
    };
    Ok(match utf8(&name(&path), &read(&path)?) {
        Ok(text) => parse(&name(&path), text).err().unwrap_or_default(),
        Err(problem) => vec![problem],
    })
}

/// Options from the text of a file with this name.
///
/// # Errors
/// Everything that is wrong with it, by line.
pub fn parse(name: &str, text: &str) -> Result<Config, Vec<Problem>> {
    let (document, problems) = TomlDocument::parse(name, text);
    if !problems.is_empty() {
        return Err(problems); // The content of a file cannot be judged by half of it.
    }
    let (defaults, _) = TomlDocument::parse("posture.toml.example", EXAMPLE);
    Config::read(ConfigReader::new(&document, &defaults))
}

/// The file to read: the one given, or else the one that the environment names, or else `posture.toml` in `folder` if it
/// exists. An empty variable names nothing.
#[must_use]
pub fn locate(given: Option<&Path>, named: Option<OsString>, folder: &Path) -> Option<PathBuf> {
    let named = named.filter(|it| !it.is_empty()).map(PathBuf::from);
    let here = || Some(folder.join(FILE_NAME)).filter(|it| it.exists());
    given.map(Path::to_path_buf).or(named).or_else(here)
}

/// Where `posture init` writes the configuration: the file that [`load`] will read.
#[must_use]
pub fn destination(given: Option<&Path>) -> PathBuf {
    found(given).unwrap_or_else(|| PathBuf::from(FILE_NAME))
}

/// Returns true if [`load`] reads a file.
#[must_use]
pub fn is_found(given: Option<&Path>) -> bool {
    found(given).is_some()
}

fn found(given: Option<&Path>) -> Option<PathBuf> {
    locate(given, env::var_os(PATH_VARIABLE), Path::new(""))
}

fn name(path: &Path) -> String {
    path.display().to_string()
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    bounded_file::read(path, FILE_BYTES_MAX).map_err(|error| {
        let shown = path.display();
        if error.kind() == ErrorKind::FileTooLarge {
            return Error::invalid(format!("{shown} is longer than {FILE_BYTES_MAX} bytes"));
        }
        Error::invalid(format!("cannot read {shown}: {error}"))
    })
}

/// One line for the terminal, with all problems as details.
fn refusal(problems: &[Problem]) -> Error {
    let first = problems.first().map(ToString::to_string).unwrap_or_default();
    let message = match problems.len() {
        0 | 1 => first,
        n => format!("{first} (and {} more; `posture config check` lists them)", n - 1),
    };
    let detail = |it: &Problem| Detail {
        field: it.line.map_or(it.file.clone(), |line| format!("{}:{line}", it.file)),
        message: it.message.clone(),
    };
    let mut error = Error::invalid(message);
    error.details = problems.iter().map(detail).collect();
    error
}
