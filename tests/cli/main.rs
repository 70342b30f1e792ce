//! Every command from outside: exit code, standard output, standard error. `SNAPSHOTS=overwrite` writes what is expected.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene has to fail")]

mod approvals;
#[path = "../../crates/config/tests/it/broken/files.rs"]
mod broken_files;
mod config;
mod doctor;
mod files;
mod looking;
mod operators;
mod printed;
mod reloads;
mod running;
mod scene;
mod seeds;
mod servers;
mod shell;
