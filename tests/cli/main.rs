//! Every command from outside: exit code, standard output, standard error. `SNAPSHOTS=overwrite` writes what is expected.

mod config;
mod doctor;
mod files;
mod looking;
mod running;
mod scene;
mod servers;
mod shell;
