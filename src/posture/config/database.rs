//! The section of what keeps the rows.

use std::path::PathBuf;

use super::reader::ConfigReader;
use super::rule::path;
use crate::toml_reader::word;

/// What keeps the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseConfig {
    /// A file in the data directory.
    Redb,
    Postgres {
        /// The file of the URL with the password.
        url_file: PathBuf,
        /// Authorities that the certificate of the server may come from, besides the known ones.
        ca_file: Option<PathBuf>,
    },
}

/// `true`: a server.
const ENGINES: [(&str, bool); 2] = [("redb", false), ("postgres", true)];

pub(super) fn database(it: &mut ConfigReader<'_>) -> DatabaseConfig {
    let is_server = it.get("database.engine", word(&ENGINES));
    let url_file = it.find("database.url_file", path);
    let ca_file = it.find("database.ca_file", path);
    if !is_server {
        let others =
            [("database.url_file", url_file.is_some()), ("database.ca_file", ca_file.is_some())];
        if let Some((key, _)) = others.into_iter().find(|it| it.1) {
            it.clash(&[key, "database.engine"], "must be set together with engine = \"postgres\"");
        }
        return DatabaseConfig::Redb;
    }
    if let Some(url_file) = url_file {
        return DatabaseConfig::Postgres { url_file, ca_file };
    }
    let rule = "\"postgres\" must be set together with database.url_file";
    it.clash(&["database.engine", "database.url_file"], rule);
    DatabaseConfig::Redb // The clash is what is answered.
}
