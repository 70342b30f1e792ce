//! Workers in the environments that a configuration can name.

use harness::{Client, Setup};
use serde_json::json;

use super::{Workshop, root};

const SOURCE: &str = "\
import sys
from toolgate import handler

@handler
def prefix() -> str:
    return sys.prefix
";

#[test]
fn a_worker_runs_in_the_environment_that_is_named() {
    let project = root().join("python").canonicalize().unwrap();
    let venv = project.join(".venv");
    assert!(venv.join("bin/uv").exists(), "uv is missing: run python/setup.sh");
    let workshop = Workshop::with(SOURCE);
    let path = format!("{}:{}", venv.join("bin").display(), std::env::var("PATH").unwrap_or_default());
    for (key, folder) in [("venv", &venv), ("uv", &project)] {
        // The project is installed already, and tests fetch nothing.
        let config = format!(
            "handlers: {{w: {{modules: [\"{}\"], {key}: \"{}\", env: {{UV_NO_SYNC: \"1\", UV_OFFLINE: \"1\", UV_NO_CACHE: \"1\"}}}}}}\n",
            workshop.path("tools.py").display(),
            folder.display()
        );
        let gateway = Setup::new().config(&config).variable("PATH", &path).start();
        let prefix = Client::modern(&gateway).call("w__prefix", &json!({}));
        assert_eq!(prefix.text(), venv.display().to_string(), "{key}: {}", prefix.answer);
    }
}
