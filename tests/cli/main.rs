//! Every command from outside: exit code, standard output, standard error. `SNAPSHOTS=overwrite` writes what is expected.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene has to fail")]

mod config;
mod doctor;
mod files;
mod looking;
mod operators;
mod running;
mod scene;
mod servers;
mod shell;
