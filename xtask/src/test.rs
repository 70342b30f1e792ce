//! The steps of the test command, in their order: what is cheap and tells most comes first.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::step::{Step, run_all};

/// Runs every step, or those whose name contains one of the words.
pub(crate) fn run(root: &Path, words: &[String]) -> ExitCode {
    let mut steps = all_steps(root);
    if !words.is_empty() {
        steps.retain(|step| words.iter().any(|word| step.name.contains(word.as_str())));
    }
    run_all(&steps)
}

fn all_steps(root: &Path) -> Vec<Step> {
    let binary = target_folder(root).join("quick").join("toolgate");
    let conformance = root.join("tests/conformance");
    let programs = root.join("tests/programs");
    let python = root.join("python");
    let node = "node_modules/.bin/node";
    let suite = |name, mode: &str| Step::new(name, &conformance, &format!("{node} run.mjs {mode}"));
    vec![
        Step::new("format", root, "cargo fmt --all --check"),
        Step::new(
            "lints",
            root,
            "cargo clippy --profile quick --workspace --all-targets --locked -- -D warnings",
        ),
        Step::new("tidy", root, "cargo xtask tidy"),
        Step::new("licences", root, "cargo xtask licences"),
        // With the features that the tests are built with, so that nothing is built twice.
        Step::new("build", root, "cargo build --profile quick --workspace --all-targets --locked"),
        Step::new("python install", &python, "./setup.sh").beside(),
        Step::new("python check", &python, "./test.sh"),
        Step::new(
            "unit and scene tests",
            root,
            // No documentation has tests; examples are programs, which are built and used here.
            "cargo test --profile quick --workspace --all-targets --no-fail-fast --locked",
        )
        .with("TOOLGATE_BIN", &binary),
        Step::new("fuzz", root, "cargo xtask fuzz"),
        Step::new("conformance install", &conformance, "./setup.sh").beside(),
        suite("conformance direct", "direct"),
        suite("conformance gateway", "gateway --toolgate").argument(&binary),
        suite("conformance client", "client --toolgate").argument(&binary),
        Step::new("programs install", &programs, "./setup.sh").beside(),
        Step::new("programs check", &programs, &format!("{node} check.mjs --toolgate")).argument(&binary),
    ]
}

fn target_folder(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |folder| root.join(folder))
}
