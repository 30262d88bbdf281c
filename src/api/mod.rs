//! HTTP: the contract's operations and the management API, mounted as one poem endpoint.

pub mod body;
pub mod caller;
pub mod edge;
pub mod manage;
pub mod page_cache;
pub mod param;
pub mod problem;
pub mod reply;
pub mod right;
pub mod v1;
pub mod view;

use std::sync::{Arc, Once};

use ipnetwork::IpNetwork;
use poem::endpoint::BoxEndpoint;
use poem::{EndpointExt, Response, Route};
use poem_openapi::{OpenApi, OpenApiService, ServerObject, Tags};

use crate::app::App;
use crate::error::Result;
use crate::store::{ClientSnapshot, ClientStore};
use page_cache::{Key, PageCache};
use reply::Rendered;

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
        let cache = PageCache::new(page_cache::CACHE_BYTES);
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
            manage::clients::Clients,
            manage::keys::Keys,
            manage::imports::Imports,
            manage::facts::Facts,
            manage::posture::Postures,
        ),
        (
            manage::controls::Controls,
            manage::requirements::Requirements,
            manage::evidence::Register,
        ),
        (
            manage::changes::Changes,
            manage::risks::Risks,
            manage::tasks::Tasks,
            manage::alert_rules::AlertRules,
            manage::conditions::Conditions,
        ),
        (
            manage::events::Events,
            manage::webhooks::Webhooks,
            manage::system::System,
            manage::catalog::CatalogReads,
            manage::session::Sessions,
            manage::users::Users,
            manage::audit::AuditLog,
            manage::export::Exports,
            manage::scans::Scans,
        ),
        (manage::kpis::Dashboard, manage::portfolio::Portfolio),
    );
    OpenApiService::new(apis, "Security and Compliance Posture API", "1.0.0")
        .description(concat!(include_str!("description.md"), include_str!("events.md")))
        .server(ServerObject::new("/").description("This service"))
}

/// Everything that answers, with every refusal in the contract's shape. `docs` is what lies under `/docs`.
#[must_use]
pub fn mount(web: Arc<Web>, docs: Route) -> BoxEndpoint<'static, Response> {
    let service = service();
    let document = service.spec();
    let allow = edge::Allow::of(&document);
    let routes = Route::new()
        .nest("/", service)
        .at("/openapi.json", edge::static_text("application/json", document))
        .at("/healthz", edge::health())
        .at("/readyz", edge::ready())
        .at("/metrics", edge::metrics());
    routes
        .nest("/docs", docs)
        .data(Arc::clone(&web))
        .catch_all_error(problem::as_problem)
        .with(edge::AtTheEdge { allow, web })
        .boxed()
}
