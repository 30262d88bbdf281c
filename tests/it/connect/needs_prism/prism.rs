//! Prism as a process, and a specification.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::harness::http::send;
use crate::harness::process::wait_until;
use crate::harness::tool;

const WAIT: Duration = Duration::from_mins(2);

/// Killed when dropped.
pub struct Prism {
    child: Child,
    address: SocketAddr,
    /// Null: it is not JSON.
    specification: Value,
    folder: TempDir,
}

impl Drop for Prism {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The parameters of a query.
pub fn parameters(target: &str) -> Vec<(&str, &str)> {
    let query = target.split_once('?').map_or("", |(_, query)| query);
    let all = query.split('&').filter(|it| !it.is_empty());
    all.map(|it| it.split_once('=').unwrap_or((it, ""))).collect()
}

/// A file in the folder that `POSTURE_STANDINS` names, or that is beside the repository.
fn standin(name: &str) -> PathBuf {
    let named = std::env::var_os("POSTURE_STANDINS").map(PathBuf::from);
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/standins");
    let path = named.unwrap_or_else(beside).join(name);
    assert!(path.is_file(), "{} is missing; set POSTURE_STANDINS", path.display());
    path
}

impl Prism {
    /// `name`: a specification among the stand-ins.
    pub fn start(name: &str) -> Self {
        let path = standin(name);
        let text = std::fs::read(&path).unwrap();
        let specification = serde_json::from_slice(&text).unwrap_or_default();
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let folder = TempDir::new().unwrap();
        let said = File::create(folder.path().join("said")).unwrap();
        let child = Command::new(tool::npm().join("node_modules/.bin/prism"))
            .args(["mock", "--errors", "--host", "127.0.0.1", "--port"])
            .arg(address.port().to_string())
            .arg(path)
            .stdin(Stdio::null())
            .stdout(said.try_clone().unwrap())
            .stderr(said)
            .spawn()
            .unwrap();
        let mut prism = Self { child, address, specification, folder };
        let is_up = wait_until(WAIT, || {
            prism.said().contains("Prism is listening") || prism.child.try_wait().unwrap().is_some()
        });
        assert!(is_up && prism.child.try_wait().unwrap().is_none(), "{}", prism.said());
        prism
    }

    fn said(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("said")).unwrap()
    }

    /// Why a request is not allowed. `None`: it is.
    pub fn refusal(
        &self,
        method: &str,
        target: &str,
        headers: &[(String, String)],
    ) -> Option<String> {
        let own = ["host", "content-length", "connection"];
        let headers = headers.iter().filter(|it| !own.contains(&it.0.as_str()));
        let headers: Vec<(&str, &str)> =
            headers.map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let answer = send(self.address, method, target, &headers, b"");
        if !(200..300).contains(&answer.status) {
            return Some(format!("{} {}", answer.status, answer.text()));
        }
        // Prism lets unknown parameters pass.
        let operation = self.operation(target)?;
        let known = operation["parameters"].as_array().into_iter().flatten();
        let known: Vec<&str> = known.filter_map(|it| it["name"].as_str()).collect();
        let mut asked = parameters(target).into_iter().map(|(name, _)| name);
        asked.find(|it| !known.contains(it)).map(|it| format!("there is no parameter {it}"))
    }

    /// Returns true if what this is answered with has such a field, such as `users/name/fullName`.
    pub fn has_field(&self, target: &str, field: &str) -> bool {
        let answer = "/responses/200/content/application~1json/schema";
        let schema = self.operation(target).and_then(|it| it.pointer(answer));
        let found = field.split('/').try_fold(schema.unwrap(), |schema, name| {
            self.resolved(schema).get("properties")?.get(name)
        });
        found.is_some()
    }

    /// Without references and lists around it.
    fn resolved<'a>(&'a self, schema: &'a Value) -> &'a Value {
        if let Some(reference) = schema["$ref"].as_str() {
            let at = reference.strip_prefix('#').unwrap();
            return self.resolved(self.specification.pointer(at).unwrap());
        }
        schema.get("items").map_or(schema, |it| self.resolved(it))
    }

    fn operation(&self, target: &str) -> Option<&Value> {
        let path = target.split('?').next().unwrap();
        let is_it = |template: &str| {
            let parts = template.split('/').zip(path.split('/'));
            template.split('/').count() == path.split('/').count()
                && parts.into_iter().all(|(a, b)| a.starts_with('{') || a == b)
        };
        let all = self.specification["paths"].as_object()?;
        all.iter().find(|(template, _)| is_it(template)).map(|(_, it)| &it["get"])
    }
}
