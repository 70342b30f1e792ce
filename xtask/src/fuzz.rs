//! Runs every fuzz target for a short while, to show that it still builds and that nothing shallow is broken.
//!
//! Coverage-guided fuzzing needs a nightly compiler; without one, the tests of `crates/protocol` still run what the targets
//! state. The flags are those of `cargo fuzz`; using them directly saves every
//! machine the build of that program.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

const DEFAULT_SECONDS: &str = "5";
const HOST: &str = "x86_64-unknown-linux-gnu";
const INSTRUMENTATION: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
     -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 -Cdebug-assertions -Zsanitizer=address";

/// Builds and runs all targets below `fuzz/fuzz_targets`.
pub(crate) fn run(root: &Path, seconds: Option<&str>) -> ExitCode {
    if !nightly_is_installed() {
        println!("skipped: fuzzing needs a nightly compiler (rustup toolchain install nightly)");
        return ExitCode::SUCCESS;
    }
    match fuzz_all(root, seconds.unwrap_or(DEFAULT_SECONDS)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn fuzz_all(root: &Path, seconds: &str) -> Result<(), String> {
    let project = root.join("fuzz");
    let targets = target_names(&project.join("fuzz_targets"))?;
    let build = project.join("target");
    let mut cargo = Command::new("cargo");
    cargo
        .args(["+nightly", "build", "--release", "--bins", "--target", HOST])
        .current_dir(&project)
        .env("CARGO_TARGET_DIR", &build)
        .env("RUSTFLAGS", INSTRUMENTATION);
    succeed(&mut cargo, "building the fuzz targets")?;

    for target in targets {
        println!("--- {target}");
        let corpus = project.join("corpus").join(&target);
        let findings = project.join("artifacts").join(&target);
        for folder in [&corpus, &findings] {
            fs::create_dir_all(folder)
                .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        }
        let mut fuzzer = Command::new(build.join(HOST).join("release").join(&target));
        fuzzer
            .arg(format!("-max_total_time={seconds}"))
            .args(["-rss_limit_mb=2048", "-timeout=10", "-verbosity=0", "-print_final_stats=1"])
            .arg(format!("-artifact_prefix={}/", findings.display()))
            .arg(&corpus);
        let seeds = project.join("seeds").join(&target);
        if seeds.is_dir() {
            fuzzer.arg(seeds);
        }
        succeed(&mut fuzzer, &format!("fuzzing {target}"))?;
    }
    Ok(())
}

fn target_names(folder: &Path) -> Result<Vec<String>, String> {
    let cannot_list = |error| format!("cannot list the fuzz targets in {}: {error}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(cannot_list)? {
        let path = entry.map_err(cannot_list)?.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    if names.is_empty() { Err(format!("no fuzz target in {}", folder.display())) } else { Ok(names) }
}

fn nightly_is_installed() -> bool {
    let version = Command::new("cargo").args(["+nightly", "--version"]).output();
    version.is_ok_and(|output| output.status.success())
}

fn succeed(command: &mut Command, doing: &str) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("{doing}: cannot start: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{doing}: {status}")) }
}
