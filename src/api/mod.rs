//! HTTP: the contract's operations and the management API, mounted as one poem endpoint.

mod document;
pub mod edge;
pub mod manage;
pub mod v1;
pub mod wire;

use std::sync::{Arc, Once};

use ipnetwork::IpNetwork;
use poem::endpoint::BoxEndpoint;
use poem::{EndpointExt, Response, Route};
use poem_openapi::{OpenApi, OpenApiService, ServerObject, Tags};

use crate::app::App;
use crate::error::Result;
use crate::store::{ClientSnapshot, ClientStore};
use edge::page_cache::{Key, PageCache};
use wire::reply::Rendered;

/// How the document groups the operations.
#[derive(Tags)]
enum Group {
    /// The contract's operations, with an API key.
    Versioned,
    /// The contract's second group, and what belongs to it: sessions, users, network scans, key figures.
    Second,
    /// Clients, facts, keys, webhooks, events: with a session, over the control socket, and in part with an API key.
    Management,
}

/// What every handler reaches.
pub struct Web {
    pub app: Arc<App>,
    pub cache: PageCache,
    /// Peers whose `X-Forwarded-For` counts.
    pub trusted_proxies: Vec<IpNetwork>,
    /// Whether it was said that a proxy is not named.
    untrusted_proxy: Once,
}

impl Web {
    #[must_use]
    pub fn new(app: Arc<App>, trusted_proxies: Vec<IpNetwork>) -> Arc<Self> {
        let cache = PageCache::new(edge::page_cache::CACHE_BYTES);
        Arc::new(Self { app, cache, trusted_proxies, untrusted_proxy: Once::new() })
    }

    /// An answer from the cache, else rendered off the async threads and kept. The key's versions were read before the
    /// snapshot is opened, so that an answer is never older than its key says.
    async fn kept<F>(&self, key: Key, rows: &ClientStore, render: F) -> Result<Rendered>
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

/// The operations, and the document that describes them.
#[must_use]
pub fn service() -> OpenApiService<impl OpenApi + 'static, ()> {
    let apis = (
        (
            v1::clients::Clients,
            v1::assets::Assets,
            v1::scores::Scores,
            v1::risks::Risks,
            v1::compliance::Compliance,
        ),
        (
            manage::client::clients::Clients,
            manage::access::keys::Keys,
            manage::intake::imports::Imports,
            manage::intake::facts::Facts,
            manage::client::posture::Postures,
        ),
        (
            manage::decision::controls::Controls,
            manage::decision::requirements::Requirements,
            manage::decision::evidence::Register,
        ),
        (
            manage::event::changes::Changes,
            manage::decision::risks::Risks,
            manage::decision::tasks::Tasks,
            manage::decision::alert_rules::AlertRules,
            manage::event::conditions::Conditions,
        ),
        (
            manage::event::events::Events,
            manage::webhook::webhooks::Webhooks,
            manage::system::System,
            manage::catalog::CatalogReads,
            manage::access::session::Sessions,
            manage::access::users::Users,
            manage::access::audit::AuditLog,
            manage::client::export::Exports,
            manage::scan::scans::Scans,
        ),
        (manage::report::kpis::Dashboard, manage::report::portfolio::Portfolio),
    );
    OpenApiService::new(apis, "Security and Compliance Posture API", "1.0.0")
        .description(include_str!("description.md"))
        .server(ServerObject::new("/").description("This service"))
}

/// The published API document, as JSON.
#[must_use]
pub fn document() -> String {
    document::of(&service())
}

/// Everything that answers, with every refusal in the contract's shape. `docs` is what lies under `/docs`.
#[must_use]
pub fn mount(web: Arc<Web>, docs: Route) -> BoxEndpoint<'static, Response> {
    let service = service();
    let document = document::of(&service);
    let allow = edge::layer::Allow::of(&document);
    let routes = Route::new()
        .nest("/", service)
        .at("/openapi.json", edge::layer::static_text("application/json", document))
        .at("/healthz", edge::layer::health())
        .at("/readyz", edge::layer::ready())
        .at("/metrics", edge::layer::metrics());
    routes
        .nest("/docs", docs)
        .data(Arc::clone(&web))
        .catch_all_error(wire::problem::as_problem)
        .with(edge::layer::AtTheEdge { allow, web })
        .boxed()
}
