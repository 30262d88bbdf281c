//! The command line. Every data command is a management API request. It is sent over the control socket if a server is
//! running, or handled by the same application in this process.

mod audit;
mod backup;
mod call;
mod catalog;
mod client;
mod client_name;
mod connect;
mod decision;
mod framework;
mod import;
mod input;
mod key;
mod option;
mod print;
mod proxy_check;
mod report;
mod scan;
mod secrets;
mod serve;
mod system;
mod upgrade;
mod user;
mod webhook;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::{Parser, Subcommand};

use crate::app::client::retention::Retention;
use crate::app::report::document::Letterhead;
use crate::bounded_file;
use crate::config::{self, CertificateConfig, Config, LoginConfig};
use crate::egress::TrustedRoots;
use crate::error::{Chain, Code, Error, Result};
use crate::mail::MailLogin;
use crate::paper::Logo;
use crate::serve::certificate::CertificateSource;
use crate::serve::certificate::acme::AcmeOptions;
use crate::serve::certificate::files::CertificateFiles;
use crate::serve::supervisor::Supervisor;
use crate::store::global::user::Role;
use crate::store::{EngineOptions, PostgresOptions};
use crate::text::visible;

/// Security and compliance posture of an MSP's clients.
#[derive(Debug, Parser)]
#[command(name = "posture", version, about, max_term_width = 100)]
pub struct Cli {
    /// Configuration file. Default: the file that `POSTURE_CONFIG` names, or else ./posture.toml if it exists.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print the API's response as JSON.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the service.
    Serve(serve::ServeArgs),
    /// Create posture.toml, the data directory and the first administrator. A posture.toml that exists is kept and used.
    Init,
    /// Manage client organizations.
    #[command(subcommand)]
    Client(client::ClientCommand),
    /// Manage API keys.
    #[command(subcommand)]
    Key(key::KeyCommand),
    /// Manage the users who log in.
    #[command(subcommand)]
    User(user::UserCommand),
    /// Manage the endpoints that events are sent to.
    #[command(subcommand)]
    Webhook(webhook::WebhookCommand),
    /// Try the mail settings.
    #[command(subcommand)]
    Mail(report::mail::MailCommand),
    /// Manage the connections that read clients' environments.
    #[command(subcommand)]
    Connect(connect::ConnectCommand),
    /// Import reports and facts for a client, or undo an import.
    Import(import::ImportArgs),
    /// Show a client's results: score, frameworks, risks, tasks, and what changed last.
    Show(report::show::ShowArgs),
    /// List all clients with their scores and risks, those that need work first.
    Portfolio(report::portfolio::PortfolioArgs),
    /// Show and accept a client's risks.
    #[command(subcommand)]
    Risk(decision::risk::RiskCommand),
    /// Show and attest a client's controls.
    #[command(subcommand)]
    Control(decision::control::ControlCommand),
    /// Show a client's requirements, and decide about them.
    #[command(subcommand)]
    Requirement(decision::requirement::RequirementCommand),
    /// Show what exists at a client and what nobody looked at, and say what there is.
    #[command(subcommand)]
    Estate(decision::estate::EstateCommand),
    /// Show what people said about a client: attestations, decisions, acceptances, answers, and what became of them.
    #[command(subcommand)]
    Statement(decision::statement::StatementCommand),
    /// State the same about many clients at once, and undo it as one.
    #[command(subcommand)]
    Batch(decision::batch::BatchCommand),
    /// Show what sources observed about a client.
    #[command(subcommand)]
    Observation(report::observation::ObservationCommand),
    /// Show the vulnerabilities of a client's systems.
    #[command(subcommand)]
    Vulnerability(report::vulnerability::VulnerabilityCommand),
    /// Manage the evidence register of a client.
    #[command(subcommand)]
    Evidence(decision::evidence::EvidenceCommand),
    /// Manage remediation tasks.
    #[command(subcommand)]
    Task(decision::task::TaskCommand),
    /// Show alerts, and manage what triggers them.
    #[command(subcommand)]
    Alert(decision::alert::AlertCommand),
    /// Show what is wrong now.
    #[command(subcommand)]
    Condition(decision::alert::ConditionCommand),
    /// List or follow events.
    #[command(subcommand)]
    Event(report::event::EventCommand),
    /// Show which requirements changed their status.
    #[command(subcommand)]
    Change(report::change::ChangeCommand),
    /// Export everything about a client or all clients, as lines of JSON.
    Export(report::export::ExportArgs),
    /// Start, show and cancel network scans.
    #[command(subcommand)]
    Scan(scan::ScanCommand),
    /// Show the catalog: frameworks, requirements and technical controls.
    #[command(subcommand)]
    Catalog(catalog::CatalogCommand),
    /// Manage your own frameworks.
    #[command(subcommand)]
    Framework(framework::FrameworkCommand),
    /// Write a signed report for people, or check one.
    #[command(subcommand)]
    Report(report::document::ReportCommand),
    /// Show or verify the audit log: who changed what, and who was refused.
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    /// Write a backup of the database while the service runs, or restore one as a drill.
    Backup(backup::BackupArgs),
    /// Put a backup in the place of the database. The service must not run.
    Restore(backup::restore::RestoreArgs),
    /// Move the database between the file and a PostgreSQL server. The service must not run.
    Move(backup::moving::MoveArgs),
    /// Read every record of the database, and list those that are damaged.
    Check,
    /// Give the free space inside of the database file back to the disk. The service must not run.
    Compact,
    /// Manage the key file that seals the secrets in the database.
    #[command(subcommand)]
    Secrets(secrets::SecretsCommand),
    /// Say what this executable would do to a database of another release.
    #[command(subcommand)]
    Upgrade(upgrade::UpgradeCommand),
    /// Show the state of the service.
    Status,
    /// Check that the server runs and can read and write, for a container or a monitor.
    Health,
    /// Print the OpenAPI document.
    Openapi,
    /// Check or show the configuration.
    #[command(subcommand)]
    Config(system::ConfigCommand),
    /// Print a completion script for a shell.
    Completions {
        /// Shell that the script is for.
        shell: clap_complete::Shell,
    },
    /// Write a manual page for each command into a folder.
    Man {
        /// Folder for the pages. Created if it does not exist.
        folder: PathBuf,
    },
    /// Show the licenses of everything inside this executable.
    Licenses {
        /// Print the texts of the licenses too.
        #[arg(long)]
        texts: bool,
    },
}

/// Runs the command.
///
/// # Errors
/// Why the API refused the request, or why the request did not reach it: one sentence for the terminal.
pub fn run(cli: Cli) -> Result<()> {
    let Cli { config: path, json, command } = cli;
    silence_database_panics();
    let path = path.as_deref();
    let options = || config::load(path);
    match command {
        Command::Serve(args) => serve::run(&options()?, &args),
        Command::Init => system::init(path, json),
        Command::Client(command) => client::run(&options()?, json, command),
        Command::Key(command) => key::run(&options()?, json, command),
        Command::User(command) => user::run(&options()?, json, command),
        Command::Webhook(command) => webhook::run(&options()?, json, command),
        Command::Mail(command) => report::mail::run(&options()?, json, &command),
        Command::Connect(command) => connect::run(&options()?, json, command),
        Command::Import(args) => import::run(&options()?, json, args),
        Command::Show(args) => report::show::run(&options()?, json, &args),
        Command::Portfolio(args) => report::portfolio::run(&options()?, json, &args),
        Command::Risk(command) => decision::risk::run(&options()?, json, command),
        Command::Control(command) => decision::control::run(&options()?, json, command),
        Command::Requirement(command) => decision::requirement::run(&options()?, json, command),
        Command::Batch(command) => decision::batch::run(&options()?, json, command),
        Command::Estate(command) => decision::estate::run(&options()?, json, command),
        Command::Statement(command) => decision::statement::run(&options()?, json, command),
        Command::Observation(command) => report::observation::run(&options()?, json, command),
        Command::Vulnerability(command) => report::vulnerability::run(&options()?, json, command),
        Command::Evidence(command) => decision::evidence::run(&options()?, json, command),
        Command::Task(command) => decision::task::run(&options()?, json, command),
        Command::Alert(command) => decision::alert::run(&options()?, json, command),
        Command::Condition(command) => decision::alert::run_conditions(&options()?, json, &command),
        Command::Event(command) => report::event::run(&options()?, json, &command),
        Command::Change(command) => report::change::run(&options()?, json, &command),
        Command::Export(args) => report::export::run(&options()?, json, &args),
        Command::Scan(command) => scan::run(&options()?, json, command),
        Command::Catalog(command) => catalog::run(&options()?, json, command),
        Command::Framework(command) => framework::run(&options()?, json, command),
        Command::Report(report::document::ReportCommand::Verify(args)) => {
            report::document::verify(json, &args)
        }
        Command::Report(command) => report::document::run(&options()?, json, &command),
        Command::Audit(command) => audit::run(&options()?, json, &command),
        Command::Backup(args) => backup::run(&options()?, json, args),
        Command::Restore(args) => backup::restore::run(&options()?, json, &args),
        Command::Move(args) => backup::moving::run(&options()?, json, &args),
        Command::Check => backup::check::check(&options()?, json),
        Command::Compact => backup::check::compact(&options()?, json),
        Command::Secrets(command) => secrets::run(&options()?, json, &command),
        Command::Upgrade(args) => upgrade::run(&options()?, json, &args),
        Command::Status => system::status(&options()?, json),
        Command::Health => system::health(&options()?, json),
        Command::Openapi => system::openapi(&options()?),
        Command::Config(command) => system::config(path, json, &command),
        Command::Completions { shell } => system::completions(shell),
        Command::Man { folder } => system::man(&folder),
        Command::Licenses { texts } => system::licenses(json, texts),
    }
}

/// A damaged file makes the database library panic. The store catches that and reports it in one sentence, so the library's
/// own words about it are not printed.
fn silence_database_panics() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let is_of_database = panic.location().is_some_and(|it| it.file().contains("/redb-"));
        if !is_of_database {
            print(panic);
        }
    }));
}

/// The message for a failure, on one line. Only an internal error is shown with its causes.
#[must_use]
pub fn failure(error: &Error) -> String {
    if error.code == Code::Internal {
        return visible(&Chain(error).to_string()).into_owned();
    }
    visible(error.message()).into_owned()
}

/// The part of the configuration that the server needs.
///
/// # Errors
/// `Invalid` if a file with certificates of authorities cannot be read.
fn serve_options(options: &Config) -> Result<crate::serve::ServeOptions> {
    let days = |it: u32| u16::try_from(it).unwrap_or(u16::MAX);
    let assessment = &options.assessment;
    Ok(crate::serve::ServeOptions {
        listen: options.server.listen,
        certificate: options.server.certificate.as_ref().map(certificate_source).transpose()?,
        http_listen: options.server.http_listen,
        listen_socket: options.server.listen_socket.clone(),
        metrics_token: None,
        dir: options.data.dir.clone(),
        key_file: options.data.key_file.clone(),
        cache_bytes: options.data.cache_bytes(),
        engine: engine_options(&options.database)?,
        trusted_proxies: options.server.trusted_proxies.clone(),
        proxy_idle_timeout: Duration::from_secs(options.server.proxy_idle_timeout_s.into()),
        connections_per_ip_max: options.server.connections_per_address as usize,
        supervisor: Supervisor::default(),
        app: crate::app::AppOptions {
            quota: [options.limits.per_minute, options.limits.per_hour, options.limits.per_day],
            require_mfa: options.auth.require_mfa.clone(),
            oidc: options.oidc.as_ref().map(|it| oidc_options(it, options)).transpose()?,
            msp_id: options.msp.id.clone(),
            public_url: options.server.public_url.clone(),
            settings: crate::app::client::settings::Defaults {
                dormant_after_days: days(assessment.dormant_after_days),
                evidence_warning_days: days(assessment.evidence_warning_days),
                stale_asset_days: days(assessment.stale_asset_days),
                new_member_days: days(assessment.new_member_days),
                retention: Retention {
                    statements_days: days(options.retention.statements),
                    observations_days: days(options.retention.observations),
                },
            },
            events_days: options.retention.events,
            loss: loss_model(assessment),
            webhooks: webhook_options(&options.webhooks)?,
            scan: crate::app::scan::request::ScanOptions {
                allow_attached: options.scan.allow_attached,
                allowed: options.scan.allowed_networks.clone(),
                excluded: options.scan.excluded_networks.clone(),
                per_s: options.scan.packets_per_s,
                per_host: options.scan.per_host_connections,
                n_concurrent: options.scan.concurrent,
                own: Vec::new(),
            },
            backup: crate::app::backup::BackupSettings {
                dir: options.backup.dir.clone(),
                own_dir: Some(options.data.dir.join(crate::app::setting::OWN_FOLDER)),
                every_h: options.backup.every_h,
                keep: options.backup.keep,
                recipients: options.backup.recipients.clone(),
                after_command: options.backup.after_command.clone(),
            },
            connect: connect_options(&options.connect)?,
            letterhead: Letterhead {
                name: options.msp.name.clone(),
                logo: options.msp.logo.as_deref().map(Logo::open).transpose()?.map(Arc::new),
                language: options.msp.language,
            },
            time_zone: options.msp.time_zone.clone(),
            configured: options.configured(),
            mail: options.mail.as_ref().map(mail_options).transpose()?,
            watch: options.import_watch.clone(),
        },
    })
}

fn certificate_source(source: &CertificateConfig) -> Result<CertificateSource> {
    Ok(match source.clone() {
        CertificateConfig::Files { certificate, key } => {
            CertificateSource::Files(CertificateFiles { certificate, key })
        }
        CertificateConfig::Acme { domains, email, directory, ca_file } => {
            let roots = trusted_roots("server.acme_ca_file", ca_file.as_deref())?;
            CertificateSource::Acme(AcmeOptions { domains, email, directory, roots })
        }
    })
}

fn mail_options(options: &crate::config::MailConfig) -> Result<crate::mail::MailOptions> {
    let login = options.login.clone().map(|it| match it {
        LoginConfig::Password { user, file } => {
            Ok(MailLogin::Password { user, password: crate::mail::read_password(&file)? })
        }
        LoginConfig::MicrosoftApp { user } => Ok(MailLogin::MicrosoftApp { user }),
    });
    Ok(crate::mail::MailOptions {
        host: options.host.clone(),
        port: options.port,
        tls: options.tls,
        from: options.from.clone(),
        greeting_name: options.greeting_name.clone(),
        login: login.transpose()?,
        roots: trusted_roots("mail.ca_file", options.ca_file.as_deref())?,
        timeout: crate::mail::TIMEOUT,
    })
}

fn trusted_roots(key: &str, file: Option<&Path>) -> Result<TrustedRoots> {
    file.map_or_else(|| Ok(TrustedRoots::default()), |path| TrustedRoots::read(key, path))
}

fn engine_options(options: &crate::config::DatabaseConfig) -> Result<EngineOptions> {
    let crate::config::DatabaseConfig::Postgres { url_file, ca_file } = options else {
        return Ok(EngineOptions::File);
    };
    let about =
        |what: &str| Error::invalid(format!("database.url_file: {} {what}", url_file.display()));
    let url = bounded_file::read_line(url_file)
        .map_err(|error| about(&format!("cannot be read: {error}")).caused_by(error))?;
    let roots = trusted_roots("database.ca_file", ca_file.as_deref())?;
    let parsed = PostgresOptions::parse(&url, roots.with_public());
    parsed.map(|it| EngineOptions::Postgres(Box::new(it))).map_err(|error| about(error.message()))
}

fn loss_model(options: &crate::config::Assessment) -> crate::app::client::loss::LossModel {
    let by_industry = |it: &crate::config::ByIndustry| crate::app::client::loss::ByIndustry {
        named: it.named.clone(),
        default: it.default,
    };
    crate::app::client::loss::LossModel {
        incidents_per_1000: by_industry(&options.incidents_per_1000),
        records_per_employee: by_industry(&options.records_per_employee),
        record_cost: options.record_cost,
        downtime_hours: options.downtime_hours,
        downtime_cost_per_hour: options.downtime_cost_per_hour,
    }
}

fn connect_options(
    options: &crate::config::ConnectConfig,
) -> Result<crate::app::connect::registry::ConnectOptions> {
    Ok(crate::app::connect::registry::ConnectOptions {
        dns_server: options.dns_server,
        egress: crate::egress::EgressPolicy {
            allow_http_networks: options.allow_http_networks.clone(),
            allow_private_networks: options.allow_private_networks.clone(),
            own: Vec::new(),
            roots: trusted_roots("connect.ca_file", options.ca_file.as_deref())?,
            sender: crate::egress::Sender::Connections,
        },
        endpoints: crate::connect::call::Endpoints(options.endpoints.clone()),
        ..Default::default()
    })
}

fn webhook_options(
    options: &crate::config::WebhookConfig,
) -> Result<crate::app::webhook::delivery::DeliveryOptions> {
    Ok(crate::app::webhook::delivery::DeliveryOptions {
        timeout_s: options.timeout_s,
        retry_gaps_s: options.retry_gaps_s.clone(),
        policy: crate::egress::EgressPolicy {
            allow_http_networks: options.allow_http_networks.clone(),
            allow_private_networks: options.allow_private_networks.clone(),
            own: Vec::new(),
            roots: trusted_roots("webhooks.ca_file", options.ca_file.as_deref())?,
            sender: crate::egress::Sender::Webhooks,
        },
        retention_days: options.retention_days,
    })
}

/// Without the client secret, which only the server reads.
fn oidc_options(
    oidc: &crate::config::OidcConfig,
    options: &Config,
) -> Result<crate::app::access::oidc::OidcOptions> {
    let roots = trusted_roots("oidc.ca_file", oidc.ca_file.as_deref())?;
    let public_url = options.server.public_url.as_deref().unwrap_or_default();
    Ok(crate::app::access::oidc::OidcOptions {
        settings: crate::oidc::OidcSettings {
            name: oidc.name.clone(),
            issuer: oidc.issuer.clone(),
            client_id: oidc.client_id.clone(),
            client_secret: None,
            redirect_url: format!("{public_url}{}", crate::web::console::OIDC_RETURN),
            scopes: oidc.scopes.clone(),
            acr_values: oidc.acr_values.clone(),
            egress: crate::egress::EgressPolicy::for_sign_in(&oidc.issuer, roots),
        },
        grants: crate::app::access::grant::OidcGrants {
            roles_claim: oidc.roles_claim.clone(),
            roles: [
                (Role::Viewer, oidc.viewer_values.clone()),
                (Role::Analyst, oidc.analyst_values.clone()),
                (Role::Admin, oidc.admin_values.clone()),
            ],
            clients_claim: oidc.clients_claim.clone(),
            provider_requires_mfa: oidc.provider_requires_mfa,
            amr_values: oidc.amr_values.clone(),
            acr_values: oidc.acr_values.clone(),
        },
    })
}
