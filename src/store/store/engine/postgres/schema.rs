//! The tables that the service makes, and whether the server is one that it can use.

use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::options::PostgresOptions;
use super::server::{Unconnected, cause};
use crate::clock::Clock;
use crate::error::{Chain, Error, Result};

/// The oldest version of PostgreSQL that is supported, as the server writes it.
const VERSION_MIN: i32 = 130_000;
/// The schema that this release makes and uses. A database with a higher one is refused.
const SCHEMA: i32 = 1;
/// The clocks of the server and of this host may differ by this much.
const CLOCK_DIFFERENCE_S_MAX: i64 = 300;

/// One statement for all: the server runs them as one transaction. Keys are compared byte by byte, as everywhere in the store.
const CREATE: &str = "\
    CREATE TABLE posture_rows (t text COLLATE \"C\" NOT NULL, k bytea NOT NULL, v bytea NOT NULL, PRIMARY KEY (t, k)) \
        WITH (fillfactor = 90); \
    CREATE TABLE posture_head (one int PRIMARY KEY CHECK (one = 1), version int NOT NULL, commit bigint NOT NULL, \
        epoch bigint NOT NULL, mark bytea NOT NULL) WITH (fillfactor = 10); \
    CREATE TABLE posture_lease (one int PRIMARY KEY CHECK (one = 1), node bytea NOT NULL, token bytea NOT NULL, \
        name text NOT NULL, until timestamptz) WITH (fillfactor = 10); \
    INSERT INTO posture_head VALUES (1, 1, 0, 0, ''); \
    INSERT INTO posture_lease VALUES (1, '', '', '', NULL)";

const STATE: &str = "\
    SELECT current_setting('server_version_num')::int, current_setting('server_version'), \
        current_setting('transaction_read_only') = 'on', \
        (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, \
        to_regclass('posture_head') IS NOT NULL";

/// Makes the tables if they are missing.
///
/// # Errors
/// `Invalid` if the server or the database cannot be used. The message says what to do.
pub(super) async fn prepare(client: &Client, options: &PostgresOptions) -> Result<()> {
    let row = client.query_typed_one(STATE, &[]).await.map_err(|it| unusable(&it, options))?;
    let version: i32 = row.get(0);
    if version < VERSION_MIN {
        let (named, oldest): (String, _) = (row.get(1), VERSION_MIN / 10_000);
        return Err(Error::invalid(format!(
            "the database server is PostgreSQL {named}; use {oldest} or a later one"
        )));
    }
    if row.get(2) {
        return Err(Error::invalid(format!(
            "the database server at {} is read-only, as a standby is; name the primary in database.url_file",
            options.hosts()
        )));
    }
    let ahead_s = (row.get::<_, i64>(3) - Clock::System.now().micros()) / 1_000_000;
    if CLOCK_DIFFERENCE_S_MAX < ahead_s.abs() {
        let way = if 0 < ahead_s { "ahead of" } else { "behind" };
        return Err(Error::invalid(format!(
            "the clock of the database server is {} s {way} the clock of this host; set both by NTP",
            ahead_s.abs()
        )));
    }
    if !row.get::<_, bool>(4) {
        create(client, options).await?;
    }
    let sql = "SELECT version FROM posture_head";
    let row = client.query_typed_one(sql, &[]).await.map_err(|it| unusable(&it, options))?;
    let found: i32 = row.get(0);
    if SCHEMA < found {
        return Err(Error::invalid(format!(
            "the tables of database `{}` are from a newer release (schema {found}; this one uses up to {SCHEMA})",
            options.database()
        )));
    }
    Ok(())
}

async fn create(client: &Client, options: &PostgresOptions) -> Result<()> {
    let Err(error) = client.batch_execute(CREATE).await else { return Ok(()) };
    let (user, database) = (options.user(), options.database());
    match error.code() {
        // Another node made them at the same time.
        Some(&SqlState::DUPLICATE_TABLE | &SqlState::UNIQUE_VIOLATION) => Ok(()),
        Some(&SqlState::INSUFFICIENT_PRIVILEGE | &SqlState::INVALID_SCHEMA_NAME) => {
            let rule = format!(
                "user `{user}` may not create tables in database `{database}`; make it the owner: \
                 ALTER DATABASE {database} OWNER TO {user}"
            );
            Err(Error::invalid(rule).caused_by(cause(&error)))
        }
        _ => Err(unusable(&error, options)),
    }
}

/// Why there is no connection.
pub(super) fn unconnected(unconnected: &Unconnected, options: &PostgresOptions) -> Error {
    match unconnected {
        Unconnected::Refused(error) => unusable(error, options),
        Unconnected::Silent => Error::unavailable(format!(
            "the database server at {} takes connections and does not answer; check that it runs, and database.url_file",
            options.hosts()
        )),
    }
}

/// An error of a new connection, or of the first requests on it.
fn unusable(error: &tokio_postgres::Error, options: &PostgresOptions) -> Error {
    let (user, database) = (options.user(), options.database());
    let rule = match error.code() {
        Some(&SqlState::INVALID_PASSWORD) => format!(
            "the database server refused the password of user `{user}`; correct it in database.url_file"
        ),
        Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION) => {
            format!("the database server does not let user `{user}` in; allow it in pg_hba.conf")
        }
        Some(&SqlState::INVALID_CATALOG_NAME) => format!(
            "the server has no database `{database}`; create it: CREATE DATABASE {database} OWNER {user}"
        ),
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) => format!(
            "user `{user}` may not use database `{database}` or its tables; make it the owner of both: \
             ALTER DATABASE {database} OWNER TO {user}"
        ),
        Some(_) | None => return unreachable(&Chain(error).to_string(), &options.hosts()),
    };
    Error::invalid(rule).caused_by(cause(error))
}

/// The libraries tell these causes apart by their text only.
fn unreachable(cause: &str, hosts: &str) -> Error {
    let rule = if cause.contains("certificate expired") {
        "renew its certificate"
    } else if cause.contains("invalid peer certificate") {
        "set database.ca_file to the certificate of its authority, and use a host name of its own certificate in database.url_file"
    } else if cause.contains("server does not support TLS") {
        "set ssl = on in its postgresql.conf"
    } else if cause.contains("database does not allow writes") {
        "no primary was found among them; check that one is running and can be reached"
    } else {
        "check that it runs, and database.url_file"
    };
    Error::unavailable(format!("the database server at {hosts} cannot be used: {cause}; {rule}"))
}
