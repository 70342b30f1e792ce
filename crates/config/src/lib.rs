//! What people write to configure Toolgate, in any of the formats they already have, turned into one internal form.
//!
//! Start at [`load`]: it takes files, variables and flags and gives a [`Config`] together with everything that is
//! wrong with it and where each value came from. The native file is described by the types under [`model`], from
//! which its schema, its documentation and its checks are generated.

pub mod byte_size;
mod check;
pub mod diff;
pub mod discover;
pub mod duration;
mod env_file;
pub mod environment;
pub mod format;
mod homes;
mod load;
pub mod model;
mod node;
mod problem;
pub mod reference;
pub mod schema;
mod secret;
pub mod show;
mod shown;
mod validate;
pub mod well_known;
pub mod write;

pub use environment::{Overrides, ServerOverride};
pub use format::Format;
pub use homes::Homes;
pub use load::{
    Imported, Loaded, LoadedFiles, Request, Skipped, import, load, parse_document, parse_tree, read_document,
};
pub use model::*;
pub use node::{Entry, Node, Origin, Value};
pub use problem::{Problem, join as join_path};
pub use secret::{MASK, Secret};
