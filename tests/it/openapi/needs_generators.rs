//! Clients that openapi-generator makes of the document are compiled, and page through the logs of a running service.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::DOCUMENT;
use crate::harness::{Posture, tool};
use crate::webhook::{add, allow_loopback};

const PASSWORD: &str = "seven blue herons, kettle";

/// A folder with the document, and a service whose logs have several pages.
struct Bench {
    folder: tempfile::TempDir,
    posture: Posture,
    webhook: String,
}

impl Bench {
    fn new() -> Self {
        let posture = Posture::start_with(allow_loopback);
        let webhook = add(&posture, "http://127.0.0.1:9/");
        let webhook = webhook["id"].as_str().unwrap().to_owned();
        let client = posture.client("Acme");
        for n in 0..12 {
            let control = format!("CLD-{:02}", n + 1);
            let facts = json!({
                "source": format!("s{n}"),
                "assets": [{"externalId": "e", "name": format!("n{n}"), "assetType": "server"}],
                "observations": [{"control": control, "status": "compliant"}],
            });
            let answer = posture.operator("POST", &format!("/api/clients/{client}/facts"), &facts);
            assert_eq!(answer.status, 200, "{}", answer.text());
        }
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("openapi.json"), &*DOCUMENT).unwrap();
        Self { folder, posture, webhook }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    /// Makes a client in the folder `to`.
    fn generate(&self, generator: &str, to: &str, properties: &str) {
        let mut command = Command::new("java");
        command.arg("-jar").arg(tool::openapi_generator_jar());
        command.args(["generate", "-i", "openapi.json", "-g", generator, "-o", to]);
        command.arg(format!("--additional-properties={properties}"));
        let parts = "apiTests=false,modelTests=false,apiDocs=false,modelDocs=false";
        run(command.arg(format!("--global-property={parts}")).current_dir(self.folder.path()));
    }

    /// How many rows each log has.
    fn rows(&self, token: &str) -> Vec<(&'static str, usize)> {
        let deliveries = format!("/api/webhooks/{}/deliveries?limit=100", self.webhook);
        [
            ("events", "/api/events?limit=1000"),
            ("changes", "/api/changes?limit=5000"),
            ("deliveries", &deliveries),
            ("audit", "/api/audit?limit=100"),
        ]
        .map(|(name, path)| {
            let answer = self.posture.as_user(token, "GET", path, &Value::Null).json();
            assert_eq!(answer["next"], Value::Null, "{name} has more rows than one page");
            let n = answer["data"].as_array().unwrap().len();
            assert!(10 < n, "{name} has one page");
            (name, n)
        })
        .to_vec()
    }

    /// Runs a program that pages through all logs, and compares what it says.
    fn pages(&self, who: &str, mut program: Command) {
        let email = format!("{who}@example.com");
        let user = json!({"email": email, "role": "admin", "password": PASSWORD});
        assert_eq!(self.posture.operator("POST", "/api/users", &user).status, 201);
        let token = self.posture.log_in(&email, PASSWORD);
        let wanted = self.rows(&token);
        program.args([&format!("http://{}", self.posture.address), &token, &self.webhook]);
        let said = run(program.current_dir(self.folder.path()));
        for (name, n) in wanted {
            assert!(said.contains(&format!("{name} {n}\n")), "{who}: {name} {n}: {said}");
        }
        let exported = said.lines().find_map(|it| it.strip_prefix("export ")).unwrap();
        assert!(100 < exported.trim().parse::<u32>().unwrap(), "{said}");
    }
}

/// What a command writes.
fn run(command: &mut Command) -> String {
    let done = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&[&done.stdout[..], &done.stderr].concat()).into_owned();
    let start: String = said.chars().take(4_000).collect();
    assert!(done.status.success(), "{command:?}: {start}");
    said
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.extension() {
            _ if path.is_dir() => files(&path, found),
            Some(it) if it == "java" => found.push(path),
            Some(_) | None => (),
        }
    }
}

#[test]
#[ignore = "needs Java and the Python packages that tests/tools installs"]
fn a_python_client_pages_through_the_logs() {
    let bench = Bench::new();
    bench.generate("python", "client", "packageName=openapi_client");
    bench.write("page.py", include_str!("generators/page.py"));
    let mut program = Command::new(tool::openapi_generator_python());
    program.args(["page.py"]).env("PYTHONPATH", bench.path("client"));
    bench.pages("python", program);
}

#[test]
#[ignore = "needs Java and the Node packages that tests/tools installs"]
fn a_typescript_client_pages_through_the_logs() {
    let bench = Bench::new();
    bench.generate("typescript-fetch", "client", "enumPropertyNaming=original");
    bench.write("page.ts", include_str!("generators/page.ts"));
    let options = ["--module", "commonjs", "--target", "es2022", "--lib", "es2022,dom", "--strict"];
    let mut compiler = Command::new(tool::npm().join("node_modules/.bin/tsc"));
    compiler.args(options).args(["--outDir", "out", "page.ts"]);
    run(compiler.current_dir(bench.folder.path()));
    let mut program = Command::new("node");
    program.arg("out/page.js");
    bench.pages("typescript", program);
}

/// Maven is not asked: what the client needs is in the archive of the generator, which is written in Java itself.
#[test]
#[ignore = "needs Java"]
fn a_java_client_pages_through_the_logs() {
    let bench = Bench::new();
    let plain = "library=native,openApiNullable=false,annotationLibrary=none,documentationProvider=none,useJakartaEe=true";
    bench.generate("java", "client", plain);
    bench.write("Page.java", include_str!("generators/Page.java"));
    // Annotations that say nothing to the compiler.
    for (name, members) in [
        (
            "Generated",
            "String[] value(); String comments() default \"\"; String date() default \"\";",
        ),
        ("Nonnull", ""),
        ("Nullable", ""),
    ] {
        let text = format!("package jakarta.annotation; public @interface {name} {{ {members} }}");
        bench.write(&format!("client/src/main/java/jakarta/annotation/{name}.java"), &text);
    }
    let mut all = vec![bench.path("Page.java")];
    files(&bench.path("client/src/main"), &mut all);
    let jar = tool::openapi_generator_jar();
    let mut compiler = Command::new("javac");
    compiler.args(["-nowarn", "-proc:none", "-d", "out", "-cp"]).arg(&jar).args(all);
    run(compiler.current_dir(bench.folder.path()));
    let mut program = Command::new("java");
    program.args(["-cp", &format!("out:{}", jar.display()), "Page"]);
    bench.pages("java", program);
}

#[test]
#[ignore = "needs Java and Go"]
fn a_go_client_pages_through_the_logs() {
    let bench = Bench::new();
    // Without the prefix, enumerations that have a word in common collide.
    let to = "src/posture/client";
    bench.generate("go", to, "withGoMod=false,enumClassPrefix=true");
    drop(fs::remove_dir_all(bench.path(to).join("test")));
    bench.write("src/posture/page/page.go", include_str!("generators/page.go"));
    let mut program = Command::new("go");
    program.args(["run", "src/posture/page/page.go"]);
    // Modules cannot be fetched. Debian has the one that the client needs.
    let path = format!("{}:/usr/share/gocode", bench.folder.path().display());
    program.env("GO111MODULE", "off").env("GOFLAGS", "").env("GOPATH", path);
    program.env("GOCACHE", bench.path("cache"));
    bench.pages("go", program);
}
