//! What `prowler --push-to-cloud` speaks: Prowler's own interface, not the contract's. Its answers are JSON:API, and it is the
//! only one that takes a key as `Authorization: Api-Key`.

use std::sync::Arc;

use poem::endpoint::make;
use poem::http::{StatusCode, header};
use poem::{Request, Response, Route, RouteMethod};
use serde::Serialize;

use crate::api::Web;
use crate::api::edge::caller;
use crate::api::edge::operation::{INGESTION, INGESTIONS};
use crate::api::edge::right::PushFindings;
use crate::api::wire::multipart;
use crate::api::wire::problem;
use crate::api::wire::reply::Null;
use crate::api::wire::upload::FileBody;
use crate::api::wire::view::{Uid, When};
use crate::app::ingestion::ReceivedFindings;
use crate::blocking;
use crate::error::Result;
use crate::id::IngestionId;
use crate::store::global::ingestion::Ingestion;

const JSON_API: &str = "application/vnd.api+json";
/// Of Prowler's interface.
const VERSION: &str = "v1";

#[derive(Serialize)]
struct Document<T> {
    data: T,
    meta: Meta,
}

#[derive(Serialize)]
struct Meta {
    version: &'static str,
}

#[derive(Serialize)]
struct IngestionView {
    #[serde(rename = "type")]
    kind: &'static str,
    id: Uid,
    attributes: Attributes,
}

#[derive(Serialize)]
struct Attributes {
    status: &'static str,
    summary: Summary,
    requested_at: When,
    started_at: Null<When>,
    completed_at: Null<When>,
    /// Null: it is not known which client the findings are about.
    client_id: Null<Uid>,
    /// The import that the findings are in.
    import_id: Null<Uid>,
    /// Why nothing was imported.
    errors: Vec<Detail>,
}

/// Counts findings. All are 0 until the file was read.
#[derive(Serialize)]
struct Summary {
    total: u64,
    processed: u64,
    invalid: u64,
}

#[derive(Serialize)]
struct Detail {
    detail: String,
}

impl IngestionView {
    fn of(it: Ingestion) -> Self {
        let Ingestion { n_total, n_invalid, .. } = it;
        let summary =
            Summary { total: n_total, processed: n_total - n_invalid, invalid: n_invalid };
        Self {
            kind: "ingestions",
            id: Uid::of(it.id.as_bytes()),
            attributes: Attributes {
                status: it.status.as_str(),
                summary,
                requested_at: When(it.requested_at),
                started_at: it.started_at.map(When).into(),
                completed_at: it.completed_at.map(When).into(),
                client_id: it.client.map(|it| Uid::of(it.as_bytes())).into(),
                import_id: it.import.map(|it| Uid::of(it.as_bytes())).into(),
                errors: it.message.into_iter().map(|detail| Detail { detail }).collect(),
            },
        }
    }
}

/// The routes. They are no operations of the API document.
pub(super) fn routes() -> Route {
    let all = RouteMethod::new()
        .get(make(async |request: Request| respond(list(&request).await)))
        .post(make(async |request: Request| respond(add(request).await)));
    let one = RouteMethod::new().get(make(async |request: Request| respond(show(&request).await)));
    Route::new().at(INGESTIONS, all).at(INGESTION, one)
}

fn respond(result: Result<Response>) -> Response {
    result.unwrap_or_else(|error| problem::respond(&error))
}

fn answer(status: StatusCode, data: impl Serialize) -> Response {
    let document = Document { data, meta: Meta { version: VERSION } };
    let body = serde_json::to_vec(&document).expect("views have no failing parts");
    Response::builder().status(status).content_type(JSON_API).body(body)
}

async fn add(mut request: Request) -> Result<Response> {
    let by = caller::caller::<PushFindings>(&request)?;
    let web = web(&request);
    let content_type = request.header(header::CONTENT_TYPE).unwrap_or_default();
    let boundary = multipart::boundary(content_type)?;
    let (id, upload) = FileBody::of(request.take_body()).keep(&web.app, &by).await?;
    let (form, n_bytes) = (upload.reader()?, upload.n_bytes());
    let find = move || multipart::find_file(&form, n_bytes, &boundary);
    let file = blocking::run((), find).await?;
    let received = ReceivedFindings { id, upload, file_name: file.name, content: file.content };
    let ingestion = web.app.accept_findings(&by, received).await?;
    Ok(answer(StatusCode::ACCEPTED, IngestionView::of(ingestion)))
}

async fn show(request: &Request) -> Result<Response> {
    let by = caller::caller::<PushFindings>(request)?;
    let id: IngestionId = request.raw_path_param("id").unwrap_or_default().parse()?;
    let ingestion = web(request).app.find_ingestion(&by, id).await?;
    Ok(answer(StatusCode::OK, IngestionView::of(ingestion)))
}

async fn list(request: &Request) -> Result<Response> {
    let by = caller::caller::<PushFindings>(request)?;
    let all = web(request).app.list_ingestions(&by).await?;
    let views: Vec<_> = all.into_iter().map(IngestionView::of).collect();
    Ok(answer(StatusCode::OK, views))
}

fn web(request: &Request) -> Arc<Web> {
    let web: &Arc<Web> = request.data().expect("mount gives every request its Web");
    Arc::clone(web)
}
