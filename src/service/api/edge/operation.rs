//! The operations of each path, and their parameters in the query.

use std::collections::BTreeMap;
use std::str::Split;
use std::sync::Arc;

use percent_encoding::percent_decode_str;
use poem::http::{HeaderValue, Method};
use poem_openapi::OpenApi;
use poem_openapi::registry::{MetaOperation, MetaParamIn};

use crate::error::{Error, Result};
use crate::text::nearest;

/// The interface of Prowler, which has no operations of the document.
pub const INGESTIONS: &str = "/api/v1/ingestions";
pub const INGESTION: &str = "/api/v1/ingestions/:id";
const BESIDE: [(&str, &str); 2] =
    [(INGESTIONS, "GET, HEAD, POST"), ("/api/v1/ingestions/{id}", "GET, HEAD")];

/// The operations of each path.
#[derive(Clone)]
pub struct Operations(Arc<Index>);

struct Index {
    tree: Tree,
    /// By their numbers.
    operations: Vec<Operation>,
}

/// What follows a part of a path.
#[derive(Default)]
struct Tree {
    /// By the next part.
    named: BTreeMap<String, Self>,
    /// For any other part: a `{name}` of the document.
    any: Option<Box<Self>>,
    /// Of the path that ends here.
    here: Option<PathOperations>,
}

struct PathOperations {
    /// The path, in which `{name}` stands for anything.
    template: String,
    /// For the `Allow` header of a 405.
    allow: HeaderValue,
    /// The number of the operation of each method, counted from 0 over all paths.
    numbers: Vec<(Method, usize)>,
}

struct Operation {
    /// Its `operationId`.
    id: &'static str,
    /// Its name in the audit log.
    action: String,
    /// What it does, in words.
    summary: &'static str,
    /// The names of the parameters in the query.
    parameters: Vec<String>,
}

impl Tree {
    fn add(&mut self, mut parts: Split<'_, char>, path: PathOperations) {
        match parts.next() {
            None => self.here = Some(path),
            Some(part) if part.starts_with('{') => {
                self.any.get_or_insert_default().add(parts, path);
            }
            Some(part) => self.named.entry(part.to_owned()).or_default().add(parts, path),
        }
    }

    fn find(&self, mut parts: Split<'_, char>) -> Option<&PathOperations> {
        let Some(part) = parts.next() else { return self.here.as_ref() };
        let named = self.named.get(part).and_then(|it| it.find(parts.clone()));
        named.or_else(|| self.any.as_ref()?.find(parts))
    }
}

impl Operations {
    /// What poem-openapi knows of the operations.
    #[must_use]
    pub fn of<A: OpenApi>(_: &A) -> Self {
        let mut paths: BTreeMap<String, Vec<MetaOperation>> = BTreeMap::new();
        for path in A::meta().into_iter().flat_map(|it| it.paths) {
            paths.entry(path.path).or_default().extend(path.operations);
        }
        let (mut tree, mut operations) = (Tree::default(), Vec::new());
        for (path, of_path) in paths {
            tree.add(path.split('/'), PathOperations::of(&path, of_path, &mut operations));
        }
        for (path, methods) in BESIDE {
            let (template, allow) = (path.to_owned(), HeaderValue::from_static(methods));
            tree.add(path.split('/'), PathOperations { template, allow, numbers: Vec::new() });
        }
        Self(Arc::new(Index { tree, operations }))
    }

    fn find(&self, path: &str) -> Option<&PathOperations> {
        self.0.tree.find(path.split('/'))
    }

    /// The number of an operation. `None` if the path does not have the method.
    pub(super) fn number(&self, method: &Method, path: &str) -> Option<usize> {
        let numbers = &self.find(path)?.numbers;
        numbers.iter().find(|it| it.0 == *method).map(|it| it.1)
    }

    /// The ids of all operations, by their numbers.
    pub fn ids(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.0.operations.iter().map(|it| it.id)
    }

    /// What each operation does, in words, by its name in the audit log.
    #[must_use]
    pub fn summaries(&self) -> BTreeMap<String, String> {
        let all = self.0.operations.iter();
        all.map(|it| (it.action.clone(), it.summary.to_owned())).collect()
    }

    /// The methods of a path.
    pub(super) fn allow(&self, path: &str) -> Option<HeaderValue> {
        self.find(path).map(|it| it.allow.clone())
    }

    /// The name of an operation in the audit log: its method and its path without ids.
    pub(super) fn action(&self, method: &Method, path: &str) -> String {
        let template = self.find(path).map_or("?", |it| &it.template);
        action(method, template)
    }

    /// Refuses a parameter in the query that the operation does not have. A filter with a typing error would otherwise
    /// answer the rows of everybody.
    ///
    /// # Errors
    /// `Invalid` with the parameter, and the known name that is nearest to it.
    pub(super) fn check_query(&self, operation: Option<usize>, query: &str) -> Result<()> {
        let operation = operation.map(|it| &self.0.operations[it]);
        let known = operation.map(|it| it.parameters.as_slice()).unwrap_or_default();
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

fn action(method: &Method, template: &str) -> String {
    format!("{method} {template}")
}

impl PathOperations {
    /// Adds the operations of a path to `all`.
    fn of(path: &str, of_path: Vec<MetaOperation>, all: &mut Vec<Operation>) -> Self {
        let mut numbers: Vec<(Method, usize)> = Vec::new();
        for it in of_path {
            let action = action(&it.method, path);
            numbers.push((it.method, all.len()));
            let of_query = it.params.into_iter().filter(|it| it.in_type == MetaParamIn::Query);
            let parameters = of_query.map(|it| it.name).collect();
            let id = it.operation_id.expect("each operation has a name");
            let summary = it.summary.expect("each operation says what it does");
            all.push(Operation { id, action, summary, parameters });
        }
        let mut methods: Vec<&str> = numbers.iter().map(|it| it.0.as_str()).collect();
        methods.sort_unstable();
        if methods.contains(&"GET") {
            methods.push("HEAD");
        }
        let allow = HeaderValue::from_str(&methods.join(", ")).expect("methods are visible");
        Self { template: path.to_owned(), allow, numbers }
    }
}

fn unknown(name: &str, known: &[String]) -> Error {
    let rule = match nearest(name, known) {
        Some(near) => format!("unknown parameter; did you mean `{near}`?"),
        None if known.is_empty() => "unknown parameter; this operation has none".to_owned(),
        None => format!("unknown parameter; this operation has {}", known.join(", ")),
    };
    Error::invalid_field(name, rule)
}
