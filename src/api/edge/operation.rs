//! What the OpenAPI document says of each path: its methods, and the parameters in the query.

use std::collections::BTreeMap;
use std::sync::Arc;

use percent_encoding::percent_decode_str;
use poem::Request;
use poem::http::{HeaderValue, Method};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::text::nearest;

/// The operations of each path.
#[derive(Clone)]
pub struct Operations(Arc<Vec<PathOperations>>);

struct PathOperations {
    /// The parts of the path, in which `{name}` stands for anything.
    template: Vec<String>,
    /// For the `Allow` header of a 405.
    allow: HeaderValue,
    /// The names of the parameters in the query, by method.
    parameters: BTreeMap<String, Vec<String>>,
}

impl Operations {
    /// Reads the OpenAPI document.
    #[must_use]
    pub fn of(document: &str) -> Self {
        let document: Value = serde_json::from_str(document).expect("poem-openapi writes JSON");
        let paths = document["paths"].as_object().expect("the document has paths");
        Self(Arc::new(paths.iter().map(|(path, item)| PathOperations::of(path, item)).collect()))
    }

    fn find(&self, path: &str) -> Option<&PathOperations> {
        let parts: Vec<&str> = path.split('/').collect();
        let fits = |template: &[String]| {
            template.len() == parts.len()
                && template.iter().zip(&parts).all(|(t, p)| t.starts_with('{') || t == p)
        };
        self.0.iter().find(|it| fits(&it.template))
    }

    /// The methods of a path.
    pub(super) fn allow(&self, path: &str) -> Option<HeaderValue> {
        self.find(path).map(|it| it.allow.clone())
    }

    /// The name of an operation in the audit log: its method and its path without ids.
    pub(super) fn action(&self, method: &Method, path: &str) -> String {
        let template = self.find(path).map(|it| it.template.join("/"));
        format!("{method} {}", template.as_deref().unwrap_or("?"))
    }

    /// Refuses a parameter in the query that the operation does not have. A filter with a typing error would otherwise
    /// answer the rows of everybody.
    ///
    /// # Errors
    /// `Invalid` with the parameter, and the known name that is nearest to it.
    pub(super) fn check_query(&self, request: &Request) -> Result<()> {
        let Some(query) = request.uri().query() else { return Ok(()) };
        let operations = self.find(request.uri().path());
        let known = operations.and_then(|it| it.parameters.get(request.method().as_str()));
        let known = known.map(Vec::as_slice).unwrap_or_default();
        for parameter in query.split('&').filter(|it| !it.is_empty()) {
            let name = parameter.split('=').next().unwrap_or_default().replace('+', " ");
            let name = percent_decode_str(&name).decode_utf8_lossy();
            if !known.iter().any(|it| *it == name) {
                return Err(unknown(&name, known));
            }
        }
        Ok(())
    }
}

impl PathOperations {
    fn of(path: &str, item: &Value) -> Self {
        let operations = item.as_object().into_iter().flatten();
        let parameters: BTreeMap<_, _> = operations
            .map(|(method, operation)| (method.to_uppercase(), query_parameters(operation)))
            .collect();
        let mut methods: Vec<&str> = parameters.keys().map(String::as_str).collect();
        if methods.contains(&"GET") {
            methods.push("HEAD");
        }
        let allow = HeaderValue::from_str(&methods.join(", ")).expect("methods are visible");
        Self { template: path.split('/').map(str::to_owned).collect(), allow, parameters }
    }
}

fn query_parameters(operation: &Value) -> Vec<String> {
    let all = operation["parameters"].as_array().into_iter().flatten();
    let of_query = all.filter(|it| it["in"] == "query");
    of_query.filter_map(|it| it["name"].as_str().map(str::to_owned)).collect()
}

fn unknown(name: &str, known: &[String]) -> Error {
    let rule = match nearest(name, known) {
        Some(near) => format!("unknown parameter; did you mean `{near}`?"),
        None if known.is_empty() => "unknown parameter; this operation has none".to_owned(),
        None => format!("unknown parameter; this operation has {}", known.join(", ")),
    };
    Error::invalid_field(name, rule)
}
