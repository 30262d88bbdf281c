//! `posture connect m365`.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::cli::call::{Call, ServerSession, call, with_session};
use crate::cli::option::body;
use crate::cli::{client_name, input, print};
use crate::config::Config;
use crate::connect::kind::VALUE_BYTES_MAX;
use crate::error::{Error, Result};
use crate::page::PULL_LIMIT_MAX;

/// What to do if there is no app.
pub(super) const NO_APP: &str = "there is no Microsoft app yet, so nothing can be read and there is no consent link; set it up on \
                                the page Microsoft app of the console, or with `posture connect m365 init`. The connection waits \
                                for it";

/// Whether this connection waits for the app.
pub(super) fn lacks_app_of(connection: &Value) -> bool {
    connection["waitsFor"] == "microsoft_app"
}

/// A longer list of clients is refused.
const LIST_BYTES_MAX: usize = 1_024 * 1_024;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum M365Command {
    /// Set the app that all connections to Microsoft use, and make its certificate.
    #[command(after_help = "\
Example:
  posture connect m365 init --app-id 00000000-1111-2222-3333-444444444444 --tenant msp.example --out posture-app.cer")]
    Init(InitArgs),
    /// Make a new certificate for the app. The one before is used until `test` finds that Microsoft knows the new one.
    #[command(after_help = "\
Example:
  posture connect m365 renew --out posture-app.cer
  posture connect m365 test")]
    Renew {
        /// Where to write the certificate that is to be uploaded. Default: standard output.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Show the app.
    Show,
    /// Ask Microsoft whether the app is as it has to be, and read the connections that waited for it.
    Test,
    /// Add a connection for each client of a list, and print the links at which their administrators consent.
    #[command(after_help = "\
The list is a CSV file with the columns client and tenant: the name or id of a client, and a domain of its tenant.
Clients that have a connection to that tenant already are not added again, so that the list can be run again.

Example:
  posture connect m365 onboard clients.csv")]
    Onboard {
        /// The list. `-` is standard input.
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(in crate::cli) struct InitArgs {
    /// Application (client) id, as the app registration shows it.
    #[arg(long)]
    app_id: String,
    /// Your own tenant: its id, or a domain of it.
    #[arg(long)]
    tenant: String,
    /// Microsoft's cloud: `global`, `us_gov`, `us_dod` or `china`. Default: `global`.
    #[arg(long)]
    cloud: Option<String>,
    /// A certificate of your own in PEM. Without it and a secret, one is made.
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,
    /// Its RSA key in PKCS#8 PEM.
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// A client secret instead of a certificate. `-` is standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "certificate")]
    secret_file: Option<PathBuf>,
    /// When the client secret expires, like 2027-01-31T00:00:00Z, to be warned before.
    #[arg(long, value_name = "TIME", requires = "secret_file")]
    secret_expires_at: Option<String>,
    /// Where to write the certificate that is to be uploaded. Default: standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn run(options: &Config, json: bool, command: M365Command) -> Result<()> {
    match command {
        M365Command::Init(args) => init(options, json, args),
        M365Command::Renew { out } => {
            let renew = Call::of("POST", "/api/microsoft-app/renew", &json!({}));
            with_certificate(options, json, out.as_deref(), renew)
        }
        M365Command::Show => show(json, &call(options, Call::get("/api/microsoft-app"))?),
        M365Command::Test => {
            test(json, &call(options, Call::of("POST", "/api/microsoft-app/test", &json!({})))?)
        }
        M365Command::Onboard { file } => onboard(options, json, &file),
    }
}

fn init(options: &Config, json: bool, args: InitArgs) -> Result<()> {
    let read = |file: Option<PathBuf>| {
        file.map(|it| input::text(&it, VALUE_BYTES_MAX).map(Value::from)).transpose()
    };
    let new = body(vec![
        ("appId", Some(json!(args.app_id))),
        ("tenant", Some(json!(args.tenant))),
        ("cloud", args.cloud.map(Value::from)),
        ("certificatePem", read(args.certificate)?),
        ("keyPem", read(args.key)?),
        ("clientSecret", read(args.secret_file)?),
        ("secretExpiresAt", args.secret_expires_at.map(Value::from)),
    ]);
    with_certificate(
        options,
        json,
        args.out.as_deref(),
        Call::of("PUT", "/api/microsoft-app", &new),
    )
}

/// Calls what makes a certificate, and writes that to the file.
fn with_certificate(options: &Config, json: bool, out: Option<&Path>, made_by: Call) -> Result<()> {
    let unwritable = |error| {
        let shown = out.unwrap_or(Path::new("")).display();
        Error::invalid(format!("cannot write {shown}: {error}"))
    };
    // Before the app is set: the certificate that Microsoft knows would be gone.
    let opened = out.map(|it| {
        let is_new = !it.exists();
        fs::OpenOptions::new().create(true).append(true).open(it).map(|_| (it, is_new))
    });
    let opened = opened.transpose().map_err(unwritable)?;
    let answer = call(options, made_by).inspect_err(|_| {
        if let Some((file, true)) = opened {
            drop(fs::remove_file(file));
        }
    })?;
    let next = answer["data"]["newCertificate"]["certificatePem"].as_str();
    let certificate = next.or(answer["data"]["certificatePem"].as_str());
    match (opened, certificate) {
        (Some((file, _)), Some(certificate)) => fs::write(file, certificate).map_err(unwritable)?,
        (Some((file, true)), None) => drop(fs::remove_file(file)),
        (Some((_, false)) | None, _) => (),
    }
    show(json, &answer)?;
    if let (false, Some(certificate)) = (json, certificate) {
        match out {
            Some(file) => print::line(&format!(
                "upload {} to the app registration, under Certificates & secrets, then run `posture connect m365 test`",
                file.display()
            ))?,
            None => print::line(&format!(
                "upload this certificate to the app registration, under Certificates & secrets, then run \
                 `posture connect m365 test`:\n{certificate}"
            ))?,
        }
    }
    Ok(())
}

fn show(json: bool, answer: &Value) -> Result<()> {
    if json {
        return print::json(answer);
    }
    print::fields(
        &answer["data"],
        &[
            ("app", "appId"),
            ("tenant", "tenant"),
            ("cloud", "cloud"),
            ("fingerprint", "fingerprint"),
            ("expires", "expiresAt"),
            ("usable", "usable"),
        ],
    )
}

/// # Errors
/// `Invalid` if a step failed, so that scripts notice.
fn test(json: bool, answer: &Value) -> Result<()> {
    let data = &answer["data"];
    if json {
        print::json(answer)?;
    } else {
        let cell = |it: &Value, name: &str| print::cell(&it[name]);
        let row = |it: &Value| vec![cell(it, "name"), cell(it, "state"), cell(it, "message")];
        let rows: Vec<_> = print::rows(&data["steps"]).iter().map(row).collect();
        print::table(&["STEP", "STATE", "WHY"], &rows)?;
        if data["connectionsDue"] != 0 {
            let n = print::count(&data["connectionsDue"], "connection");
            print::line(&format!("being read now: {n} that waited"))?;
        }
    }
    if data["passed"] == true {
        return Ok(());
    }
    Err(Error::invalid("the app is not yet as it has to be; see the first step that failed"))
}

fn onboard(options: &Config, json: bool, file: &Path) -> Result<()> {
    let text = input::text(file, LIST_BYTES_MAX)?;
    let rows =
        rows(&text).map_err(|rule| Error::invalid(format!("{}: {rule}", input::name(file))))?;
    let (mut done, mut n_failed, mut lacks_app) = (Vec::new(), 0, false);
    with_session(options, async |session| {
        let all = session.list("/api/connections", PULL_LIMIT_MAX).await?;
        for (client, tenant) in &rows {
            let added = onboard_one(session, &all, client, tenant).await;
            n_failed += usize::from(added.is_err());
            lacks_app |= matches!(&added, Ok(it) if lacks_app_of(it));
            done.push(match added {
                Ok(it) => json!({
                    "client": client, "tenant": tenant, "connectionId": it["id"],
                    "consentUrl": it["consentUrl"], "error": null,
                }),
                Err(error) => json!({
                    "client": client, "tenant": tenant, "connectionId": null,
                    "consentUrl": null, "error": error.message(),
                }),
            });
        }
        Ok(())
    })?;
    if json {
        print::json(&json!({ "data": done }))?;
    } else {
        let row = |it: &Value| {
            let link = if it["error"].is_null() { &it["consentUrl"] } else { &it["error"] };
            [&it["client"], &it["tenant"], &it["connectionId"], link].map(print::cell).to_vec()
        };
        let heading = ["CLIENT", "TENANT", "CONNECTION", "CONSENT"];
        print::list(false, &done, ("no clients", &heading), row)?;
    }
    if lacks_app {
        print::warn(NO_APP);
    }
    if n_failed == 0 {
        return Ok(());
    }
    Err(Error::invalid(format!("{n_failed} of {} clients were not added", rows.len())))
}

/// Returns the connection, which may have been there.
async fn onboard_one(
    session: &ServerSession,
    all: &[Value],
    client: &str,
    tenant: &str,
) -> Result<Value> {
    let id = client_name::find(session, client).await?.to_string();
    let tenant = tenant.to_lowercase();
    let known = all.iter().find(|it| {
        it["kind"] == "m365"
            && it["clientId"] == id.as_str()
            && it["settings"]["tenant"] == tenant.as_str()
    });
    if let Some(known) = known {
        return Ok(known.clone());
    }
    let new = json!({ "clientId": id, "kind": "m365", "settings": { "tenant": tenant } });
    Ok(session.call(Call::of("POST", "/api/connections", &new)).await?["data"].clone())
}

/// Client and tenant of each row, or what is wrong with the file.
fn rows(text: &str) -> std::result::Result<Vec<(String, String)>, String> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let headers = reader.headers().map_err(|it| it.to_string())?.clone();
    let find = |name: &str| headers.iter().position(|it| it.eq_ignore_ascii_case(name));
    let (Some(client), Some(tenant)) = (find("client"), find("tenant")) else {
        return Err("must have the columns client and tenant".to_owned());
    };
    let mut rows = Vec::new();
    for (index, record) in reader.records().enumerate() {
        let record = record.map_err(|it| it.to_string())?;
        let cell = |at: usize| record.get(at).unwrap_or_default().to_owned();
        if cell(client).is_empty() || cell(tenant).is_empty() {
            return Err(format!("row {} lacks its client or its tenant", index + 2));
        }
        rows.push((cell(client), cell(tenant)));
    }
    Ok(rows)
}
