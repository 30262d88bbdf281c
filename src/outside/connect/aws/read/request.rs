//! Requests to AWS's services.

use bytes::Bytes;
use serde_json::Value;

use crate::clock::Time;
use crate::connect::aws::sign::{Credentials, Endpoint, Request, query_text, sign};
use crate::connect::call::Call;
use crate::egress::http::Method;

/// Where services are that have no region, and where others are asked first. Every account has it.
pub(super) const HOME: &str = "us-east-1";
const S3: &str = "s3";

/// A request, without a signature.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    /// As signatures name it.
    service: &'static str,
    region: String,
    host: String,
    path: String,
    /// Of the query of a GET, or of a form.
    pairs: Vec<(&'static str, String)>,
    form: Form,
    /// The action that has to be allowed.
    action: String,
}

#[derive(Clone, Debug)]
enum Form {
    Get,
    Query,
    Json { target: String, body: Value },
}

impl Ask {
    /// Of a service with the query protocol.
    pub(super) fn query(
        service: &'static str,
        region: &str,
        action: &'static str,
        version: &str,
    ) -> Self {
        let host = match service {
            "iam" => "iam.amazonaws.com".to_owned(),
            _ => format!("{service}.{region}.amazonaws.com"),
        };
        let pairs = vec![("Action", action.to_owned()), ("Version", version.to_owned())];
        Self {
            service,
            region: region.to_owned(),
            host,
            path: "/".to_owned(),
            pairs,
            form: Form::Query,
            action: format!("{service}:{action}"),
        }
    }

    pub(super) fn cloudtrail(region: &str, action: &'static str, body: Value) -> Self {
        let target = format!("com.amazonaws.cloudtrail.v20131101.CloudTrail_20131101.{action}");
        Self {
            pairs: Vec::new(),
            form: Form::Json { target, body },
            ..Self::query("cloudtrail", region, action, "")
        }
    }

    /// `path`: percent-encoded.
    pub(super) fn guardduty(region: &str, path: String, action: &'static str) -> Self {
        Self {
            path,
            pairs: Vec::new(),
            form: Form::Get,
            ..Self::query("guardduty", region, action, "")
        }
    }

    /// `path`: percent-encoded. `action`: the one that is to be allowed, which S3 names otherwise than the request.
    pub(super) fn s3(region: &str, path: String, action: &'static str) -> Self {
        Self { path, pairs: Vec::new(), form: Form::Get, ..Self::query(S3, region, action, "") }
    }

    /// Of the settings of S3 for a whole account.
    pub(super) fn s3_of_account(account: &str, path: &str, action: &'static str) -> Self {
        let host = format!("{account}.s3-control.{HOME}.amazonaws.com");
        Self { host, ..Self::s3(HOME, path.to_owned(), action) }
    }

    /// Sets a parameter.
    #[must_use]
    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.pairs.retain(|it| it.0 != name);
        self.pairs.push((name, value.into()));
        self
    }

    pub(super) fn action(&self) -> &str {
        &self.action
    }

    /// The call, which [`Ask::sign`] completes.
    pub(super) fn call(&self) -> Call {
        let query = self.query_text();
        let mut call = Call::get(format!("https://{}{}", self.host, self.path));
        call.permission = self.action.clone().into();
        // It is signed, so it stays the same if the request goes through a gateway.
        call.headers.push(("host", self.host.clone()));
        match &self.form {
            Form::Get if query.is_empty() => (),
            Form::Get => call.url = format!("{}?{query}", call.url),
            Form::Query => {
                call.method = Method::POST;
                let kind = "application/x-www-form-urlencoded; charset=utf-8";
                call.headers.push(("content-type", kind.to_owned()));
                call.body = Bytes::from(query);
            }
            Form::Json { target, body } => {
                call.method = Method::POST;
                call.headers.push(("content-type", "application/x-amz-json-1.1".to_owned()));
                call.headers.push(("x-amz-target", target.clone()));
                call.body = Bytes::from(body.to_string());
            }
        }
        if self.host.contains(".s3-control.") {
            let account = self.host.split('.').next().unwrap_or_default();
            call.headers.push(("x-amz-account-id", account.to_owned()));
        }
        call
    }

    fn query_text(&self) -> String {
        query_text(&self.borrowed())
    }

    fn borrowed(&self) -> Vec<(&str, &str)> {
        self.pairs.iter().map(|(name, value)| (*name, value.as_str())).collect()
    }

    /// Adds the signature to its call.
    pub(super) fn sign(&self, call: &mut Call, credentials: &Credentials, at: Time) {
        let pairs = self.borrowed();
        let headers: Vec<_> = call.headers.iter().map(|(name, it)| (*name, it.as_str())).collect();
        let request = Request {
            method: call.method.as_str(),
            path: &self.path,
            query: if matches!(self.form, Form::Get) { &pairs } else { &[] },
            headers: &headers,
            body: &call.body,
        };
        let endpoint = Endpoint { region: &self.region, service: self.service };
        let added = sign(&request, endpoint, credentials, at);
        call.headers.extend(added);
    }
}
