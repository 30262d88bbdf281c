//! HTTP: the contract's operations and the management API, mounted as one poem endpoint.

pub mod document;
pub mod edge;
mod ingestion;
pub mod manage;
pub mod v1;
pub mod wire;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Once};

use bytes::Bytes;
use ipnetwork::IpNetwork;
use poem::endpoint::BoxEndpoint;
use poem::{Endpoint, EndpointExt, IntoEndpoint, Request, Response, Route};
use poem_openapi::{LicenseObject, OpenApi, OpenApiService, ServerObject, Tags};

use crate::app::App;
use crate::error::Result;
use crate::poll::PollWatch;
use crate::store::{ClientSnapshot, ClientStore};
use edge::metric::Metrics;
use edge::metrics_token::MetricsAccess;
use edge::operation::Operations;
use edge::page_cache::{PageCache, PageKey};
use edge::traffic::Traffic;
use wire::reply::Rendered;

/// How the document groups the operations.
#[derive(Tags)]
enum Group {
    /// The versioned interface under `/api/v1`. It takes an API key.
    Versioned,
    /// Sessions, users, network scans and the dashboard. They take a user's token; scans also take an API key.
    #[oai(rename = "Sessions, users, scans, dashboard")]
    Second,
    /// Clients, facts, keys, webhooks, events and everything else. They take a user's token; some also take an API key.
    Management,
}

impl Group {
    /// The names of the groups, in the order in which the document lists them.
    const ORDER: [&'static str; 3] =
        ["Versioned", "Sessions, users, scans, dashboard", "Management"];
}

/// The part of the configuration that requests need.
pub struct WebOptions {
    pub trusted_proxies: Vec<IpNetwork>,
    pub metrics_access: MetricsAccess,
}

/// What answers requests, and what counts the answers.
#[derive(Clone)]
pub struct SharedService {
    pub endpoint: Arc<BoxEndpoint<'static, Response>>,
    pub traffic: Arc<Traffic>,
    pub polls: Arc<PollWatch>,
}

/// What every handler has access to.
pub struct Web {
    pub app: Arc<App>,
    pub cache: PageCache,
    pub metrics: Metrics,
    pub metrics_access: MetricsAccess,
    /// Peers whose `X-Forwarded-For` header is trusted.
    pub trusted_proxies: Vec<IpNetwork>,
    /// Set once the log said that a proxy is not configured.
    untrusted_proxy: Once,
}

impl Web {
    fn new(app: Arc<App>, options: WebOptions, traffic: Arc<Traffic>) -> Arc<Self> {
        let WebOptions { trusted_proxies, metrics_access } = options;
        let cache = PageCache::new(edge::page_cache::CACHE_BYTES);
        let metrics = Metrics::new(traffic, Arc::clone(&app.polls));
        Arc::new(Self {
            app,
            cache,
            metrics,
            metrics_access,
            trusted_proxies,
            untrusted_proxy: Once::new(),
        })
    }

    /// Returns the cached answer, or renders it off the async threads and caches it. The key's versions are read before
    /// the snapshot is opened, so that an answer is never older than its key says.
    async fn cached_or_render<F>(
        &self,
        key: PageKey,
        rows: &ClientStore,
        render: F,
    ) -> Result<Rendered>
    where
        F: FnOnce(&ClientSnapshot) -> Result<Rendered> + Send + 'static,
    {
        if let Some(rendered) = self.cache.find(&key) {
            return Ok(rendered);
        }
        let rendered = rows.read(render).await?;
        self.cache.put(key, rendered.clone());
        Ok(rendered)
    }
}

/// The operations, in the order in which the document lists them.
fn operations() -> impl OpenApi + 'static {
    (
        (
            v1::clients::VersionedClients,
            v1::assets::Assets,
            v1::scores::VersionedScores,
            v1::risks::VersionedRisks,
            v1::compliance::Compliance,
        ),
        (
            manage::access::session::Sessions,
            manage::access::mfa::SecondFactors,
            manage::access::passkeys::Passkeys,
            manage::access::console_sessions::ConsoleSessions,
            manage::access::users::Users,
            manage::scan::scans::Scans,
            manage::report::kpis::Dashboard,
        ),
        (
            manage::client::clients::ManagedClients,
            manage::access::keys::Keys,
            manage::intake::imports::Imports,
            manage::intake::facts::ManagedFacts,
            manage::client::posture::Postures,
            manage::client::accounts::Accounts,
            manage::client::assets::ManagedAssets,
        ),
        (
            manage::decision::controls::ManagedControls,
            manage::decision::estate::Estates,
            manage::decision::subjects::Subjects,
            manage::decision::history::History,
            manage::decision::statements::Statements,
            manage::decision::batches::Batches,
            manage::decision::requirements::Requirements,
            manage::decision::evidence::Register,
            manage::decision::evidence_file::EvidenceFiles,
        ),
        (
            manage::event::changes::Changes,
            manage::decision::risks::ManagedRisks,
            manage::decision::tasks::Tasks,
            manage::decision::alert_rules::AlertRules,
            manage::event::conditions::Conditions,
        ),
        (
            manage::event::events::Events,
            manage::webhook::webhooks::ManagedWebhooks,
            manage::system::System,
            manage::backups::BackupOperations,
            manage::catalog::CatalogReads,
            manage::own_frameworks::OwnFrameworks,
            manage::exploited::Exploited,
            manage::access::audit::AuditLog,
            manage::client::export::Exports,
            manage::report::compliance::ClientCompliance,
            manage::report::portfolio::Portfolio,
            manage::report::reports::Reports,
            manage::report::schedules::ReportSchedules,
            manage::report::mail::MailTests,
            manage::client::observations::Observations,
            manage::client::vulnerabilities::Vulnerabilities,
        ),
        (
            manage::connections::Connections,
            manage::connections::organization::ConnectionOrganizations,
            manage::connections::microsoft::MicrosoftAppOperations,
            manage::connections::mapping::ConnectionMappings,
            manage::settings::SettingOperations,
        ),
    )
}

/// The operations, and what their document says of all of them.
#[must_use]
pub fn service() -> OpenApiService<impl OpenApi + 'static, ()> {
    OpenApiService::new(operations(), "Security and Compliance Posture API", "1.0.0")
        .description(include_str!("description.md"))
        .license(
            LicenseObject::new("Apache-2.0").url("https://www.apache.org/licenses/LICENSE-2.0"),
        )
        .server(ServerObject::new("/").description("This service"))
}

/// Answers requests, with what all answers have in common.
pub type Answering = Arc<BoxEndpoint<'static, Response>>;

/// The operations, and what is not part of the API. Each has routes of its own, so that a call of an operation is looked
/// up once.
struct Site {
    operations: Answering,
    /// The interface of Prowler.
    ingestions: Answering,
    pages: Answering,
}

impl Endpoint for Site {
    type Output = Response;

    async fn call(&self, request: Request) -> poem::Result<Response> {
        let path = request.uri().path();
        let ingestion = path.strip_prefix(edge::operation::INGESTIONS);
        if ingestion.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
            return self.ingestions.call(request).await;
        }
        if path.starts_with("/api/") || path.starts_with("/auth/") {
            self.operations.call(request).await
        } else {
            self.pages.call(request).await
        }
    }
}

static OPERATIONS: LazyLock<Operations> = LazyLock::new(|| Operations::of(&operations()));

/// All routes, with every error in the contract's shape. `pages` makes what answers outside of the API; it may call the
/// operations, and gets what each of them does in words, by its name in the audit log.
#[must_use]
pub fn mount(
    app: Arc<App>,
    options: WebOptions,
    pages: impl FnOnce(Answering, BTreeMap<String, String>) -> Route,
) -> SharedService {
    let service = service();
    let known = &*OPERATIONS;
    let traffic = Arc::new(Traffic::of(known.ids()));
    let polls = Arc::clone(&app.polls);
    let public_url = app.options.public_url.clone();
    let document = LazyLock::new(move || Bytes::from(document::write(public_url.as_deref())));
    let web = Web::new(app, options, Arc::clone(&traffic));
    let operations = at_the_edge(service, known, &web);
    let pages = pages(Arc::clone(&operations), known.summaries())
        .at("/openapi.json", edge::layer::static_text("application/json", move || document.clone()))
        .at("/healthz", edge::layer::health())
        .at("/readyz", edge::layer::ready())
        .at("/metrics", edge::layer::metrics());
    let pages = at_the_edge(pages, known, &web);
    let ingestions = at_the_edge(ingestion::routes(), known, &web);
    let endpoint = Site { operations, ingestions, pages }.boxed();
    SharedService { endpoint: Arc::new(endpoint), traffic, polls }
}

fn at_the_edge<E>(endpoint: E, operations: &Operations, web: &Arc<Web>) -> Answering
where
    E: IntoEndpoint,
    E::Endpoint: 'static,
{
    let (operations, web) = (operations.clone(), Arc::clone(web));
    let endpoint = endpoint
        .into_endpoint()
        .data(Arc::clone(&web))
        .data(operations.clone())
        .catch_all_error(wire::problem::as_problem)
        .with(edge::layer::AtTheEdge { operations, web })
        .boxed();
    Arc::new(endpoint)
}
