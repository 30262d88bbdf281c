//! `posture report`: signed documents for people, and the check of one.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::download::{self, ReportFormat};
use super::language::Language;
use crate::bounded_file;
use crate::cli::call::{Call, ServerSession, call, encoded};
use crate::cli::{client_name, print};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::paper::signature::{PublicKey, Unsigned, verify as verify_signature};
use crate::text::visible;

/// A longer file is no report.
const REPORT_BYTES_MAX: u64 = 64 * 1024 * 1024;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ReportCommand {
    /// Write the report about a client.
    Client(ClientArgs),
    /// Write the report about a client and a framework: for ISO 27001 the statement of applicability, for CMMC Level 2
    /// with the SPRS worksheet.
    Framework(FrameworkArgs),
    /// Write the report about all clients.
    Portfolio(PortfolioArgs),
    /// Send reports by e-mail on schedule.
    #[command(subcommand)]
    Schedule(super::schedule::ScheduleCommand),
    /// Check that a report is as it was signed, on any computer: needs no configuration and no database.
    Verify(VerifyArgs),
    /// Show the keys that sign reports, for readers to compare.
    Key,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  posture report client 'Acme Ltd' --output acme.pdf
  posture report client 'Acme Ltd' --format html --language fr --output acme.html")]
pub(in crate::cli) struct ClientArgs {
    /// Client, by name or id.
    client: String,
    #[command(flatten)]
    document: DocumentArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  posture report framework 'Acme Ltd' SOC2 --output acme-soc2.pdf
  posture report framework 'Acme Ltd' ISO_27001 --language fr --output acme-iso.pdf")]
pub(in crate::cli) struct FrameworkArgs {
    /// Client, by name or id.
    client: String,
    /// Framework, such as SOC2.
    framework: String,
    #[command(flatten)]
    document: DocumentArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  posture report portfolio --output portfolio.pdf
  posture report portfolio --format html --language fr --output portefeuille.html")]
pub(in crate::cli) struct PortfolioArgs {
    #[command(flatten)]
    document: DocumentArgs,
}

#[derive(Debug, Args)]
struct DocumentArgs {
    /// Format of the report.
    #[arg(long, value_enum, default_value_t = DocumentFormat::Pdf)]
    format: DocumentFormat,
    /// Language of the report. Default: `msp.language` of the configuration.
    #[arg(long, value_enum)]
    language: Option<Language>,
    /// File to write, or - for standard output. A file that exists is replaced.
    #[arg(long, short, default_value = "-", value_name = "FILE")]
    output: PathBuf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DocumentFormat {
    /// A page for a browser.
    Html,
    /// Pages to print.
    Pdf,
}

impl DocumentFormat {
    const fn report(self) -> ReportFormat {
        match self {
            Self::Html => ReportFormat::Html,
            Self::Pdf => ReportFormat::Pdf,
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
Anybody can sign a file with a key of their own; the file cannot prove who holds the key. Compare
it with the one that `posture report key` shows where the report was made, or pass that one: --key.

Examples:
  posture report verify acme.pdf
  posture report verify acme.pdf --key \"$KEY\"")]
pub(in crate::cli) struct VerifyArgs {
    /// The report, as HTML or PDF.
    file: PathBuf,
    /// The public key that must have signed it, in hexadecimal.
    #[arg(long, value_name = "HEX")]
    key: Option<String>,
}

pub(in crate::cli) fn run(options: &Config, json: bool, command: &ReportCommand) -> Result<()> {
    match command {
        ReportCommand::Client(ClientArgs { client, document }) => {
            write(options, json, document, async |session| {
                Ok(format!("{}/reports/posture", client_name::path(session, client).await?))
            })
        }
        ReportCommand::Framework(FrameworkArgs { client, framework, document }) => {
            write(options, json, document, async |session| {
                let client = client_name::path(session, client).await?;
                Ok(format!("{client}/reports/{}", encoded(framework)))
            })
        }
        ReportCommand::Portfolio(PortfolioArgs { document }) => {
            write(options, json, document, async |_| Ok("/api/portfolio/report".to_owned()))
        }
        ReportCommand::Schedule(command) => super::schedule::run(options, json, command),
        ReportCommand::Verify(args) => verify(json, args),
        ReportCommand::Key => keys(options, json),
    }
}

/// `path`: that of the report's operation.
fn write(
    options: &Config,
    json: bool,
    args: &DocumentArgs,
    path: impl AsyncFnOnce(&ServerSession) -> Result<String>,
) -> Result<()> {
    let format = args.format.report();
    download::run(options, json, (format, &args.output), async |session| {
        let language = args.language.map(|it| format!("?language={}", it.as_str()));
        Ok(format!("{}{}", path(session).await?, language.unwrap_or_default()))
    })
}

fn keys(options: &Config, json: bool) -> Result<()> {
    let mut answer = call(options, Call::get("/api/system"))?;
    let keys = answer["data"]["reportKeys"].take();
    if json {
        return print::json(&json!({ "data": keys }));
    }
    let row = |it: &Value| {
        let signs = if it["signing"] == true { "signs" } else { "of another key file" };
        let fields = ["publicKey", "fingerprint"].map(|name| print::cell(&it[name]));
        [&fields[..], &[print::minute(&it["createdAt"]), signs.to_owned()]].concat()
    };
    let rows: Vec<Vec<String>> = print::rows(&keys).iter().map(row).collect();
    print::table(&["PUBLIC KEY", "FINGERPRINT", "MADE", "STATE"], &rows)
}

/// Says who signed a report, and when.
///
/// # Errors
/// `Invalid` if it is not as it was signed, not signed, or signed with another key than the given one.
pub(in crate::cli) fn verify(json: bool, args: &VerifyArgs) -> Result<()> {
    let shown = args.file.display();
    let expected = args.key.as_deref().map(|it| {
        let rule = "--key: must be 64 hexadecimal digits, as `posture report key` shows them";
        PublicKey::read(it.trim()).ok_or_else(|| Error::invalid(rule))
    });
    let expected = expected.transpose()?;
    let document = bounded_file::read(&args.file, REPORT_BYTES_MAX);
    let document =
        document.map_err(|error| Error::invalid(format!("{shown} cannot be read: {error}")))?;
    let signed = verify_signature(&document).map_err(|why| {
        Error::invalid(match why {
            Unsigned::Absent => format!(
                "{shown} has no signature: it is not a report of Posture, or its end is missing"
            ),
            Unsigned::Malformed => format!("{shown} has a signature that this release cannot read"),
            Unsigned::Altered => {
                format!("{shown} was changed after it was signed; do not rely on it")
            }
        })
    })?;
    if let Some(expected) = expected.filter(|it| *it != signed.key) {
        return Err(Error::invalid(format!(
            "{shown} is signed with another key ({}) than the given one ({}); do not rely on it",
            signed.key.fingerprint(),
            expected.fingerprint()
        )));
    }
    if json {
        return print::json(&json!({ "data": {
            "signedBy": signed.by,
            "signedAt": signed.at.to_string(),
            "publicKey": signed.key.hex(),
            "fingerprint": signed.key.fingerprint(),
            "keyMatches": expected.map(|_| true),
        } }));
    }
    print::line(&format!("{shown}: unchanged since {} signed it", visible(&signed.by)))?;
    print::line(&format!("signed at         {}", signed.at))?;
    print::line(&format!("public key        {}", signed.key.hex()))?;
    print::line(&format!("fingerprint       {}", signed.key.fingerprint()))?;
    print::line(if expected.is_some() {
        "the key is the given one"
    } else {
        "compare the key with the one of who made the report (`posture report key`, or reportKeys in GET /api/system), or pass \
         that one with --key"
    })
}
