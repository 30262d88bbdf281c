//! Prism as a process, and a specification.

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::harness::http::send;
use crate::harness::port::free_port;
use crate::harness::process::wait_until;
use crate::harness::tool;

const WAIT: Duration = Duration::from_mins(2);

/// Killed when dropped.
pub struct Prism {
    child: Child,
    address: SocketAddr,
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

/// What a file says, as JSON. Those of Datto's operations that tell no answer of success tell its schema under 403.
fn specification(path: &Path, folder: &Path) -> Value {
    let json = if path.extension().is_some_and(|it| it == "yaml") {
        let json = folder.join("bundle.json");
        let done = Command::new(tool::npm().join("node_modules/.bin/redocly"))
            .arg("bundle")
            .args([path, Path::new("--output"), &json])
            .env("REDOCLY_TELEMETRY", "off")
            .env("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true")
            .current_dir(folder)
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        json
    } else {
        path.to_owned()
    };
    let mut specification: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    let paths = specification["paths"].as_object_mut().unwrap().values_mut();
    for operation in paths.filter_map(|it| it.get_mut("get")) {
        let answers = operation["responses"].as_object_mut().unwrap();
        let is_told = answers.keys().any(|it| it.starts_with('2') || it == "default");
        if let Some(answer) = answers.get("403").filter(|_| !is_told).cloned() {
            answers.insert("200".to_owned(), answer);
        }
    }
    specification
}

impl Prism {
    /// `name`: a specification among the stand-ins.
    pub fn start(name: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let specification = specification(&standin(name), folder.path());
        let path = folder.path().join("specification.json");
        std::fs::write(&path, specification.to_string()).unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
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

    /// The schema of a field of what this is answered with, such as `users/name/fullName`.
    pub fn field(&self, target: &str, field: &str) -> Option<&Value> {
        let operation = self.operation(target).unwrap();
        let answer = |code| operation["responses"].get(code).map(|it| &it["content"]);
        let answer = answer("200").or_else(|| answer("default")).unwrap();
        let is_index = |it: &&str| it.bytes().all(|it| it.is_ascii_digit());
        let mut names = field.split('/').filter(|it| !is_index(it));
        let found = names.try_fold(&answer["application/json"]["schema"], |schema, name| {
            self.resolved(schema).get("properties")?.get(name)
        });
        found.map(|it| self.resolved(it))
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
