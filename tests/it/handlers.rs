//! Python functions as tools, with real workers behind the gateway.

mod business;
mod callers;
mod crashes;
mod environments;
mod governed;
mod pools;
mod reloads;
mod short_calls;
mod stuck;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use harness::{Gateway, Setup};
use serde_json::Value;

/// The code for a call whose server failed.
const EXECUTION_ERROR: i64 = -32005;

/// The Python that has the package.
fn python() -> PathBuf {
    let python = root().join("python/.venv/bin/python");
    assert!(python.exists(), "{} is missing: run python/setup.sh", python.display());
    python
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// A folder of handlers whose only file is replaced as an editor does it.
struct Workshop(tempfile::TempDir);

impl Workshop {
    fn with(source: &str) -> Workshop {
        let workshop = Workshop(tempfile::tempdir().unwrap());
        workshop.write(source);
        workshop
    }

    fn write(&self, source: &str) {
        let folder = self.0.path();
        fs::write(folder.join("tools.py.new"), source).unwrap();
        fs::rename(folder.join("tools.py.new"), folder.join("tools.py")).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A gateway with these handlers as `w`, and more keys of their record.
    fn open(&self, record: &str) -> Gateway {
        self.open_with(record, "")
    }

    /// The same with other sections of the file.
    fn open_with(&self, record: &str, sections: &str) -> Gateway {
        self.open_with_python(&python().display().to_string(), record, sections)
    }

    /// The same with another interpreter.
    fn open_with_python(&self, python: &str, record: &str, sections: &str) -> Gateway {
        let file = self.path("tools.py");
        let config = format!(
            "handlers:\n  w: {{modules: [\"{}\"], python: \"{python}\", {record}}}\n{sections}",
            file.display(),
        );
        Setup::new().config(&config).start()
    }
}

/// Ends the work of other threads, also when the scene fails.
#[derive(Default)]
struct Over(AtomicBool);

impl Over {
    fn now(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_now(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn at_the_end(&self) -> AtTheEnd<'_> {
        AtTheEnd(self)
    }
}

/// It is over when this is dropped.
struct AtTheEnd<'a>(&'a Over);

impl Drop for AtTheEnd<'_> {
    fn drop(&mut self) {
        self.0.now();
    }
}

/// What `GET /health` says of the handlers.
fn health(gateway: &Gateway) -> Value {
    let mut connection = harness::http::Connection::open(gateway.address());
    let report = connection.exchange("GET", "/health", &[], b"").json();
    report["servers"][0].clone()
}
