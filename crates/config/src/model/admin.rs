//! Section `admin`: the admin API and page.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The admin API and page. Without `listen` there is none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AdminConfig {
    /// `HOST:PORT` of its own, or a path such as `/admin` on the main listener.
    pub listen: Option<String>,
    /// File that holds the token operators must show.
    pub token_file: Option<PathBuf>,
    /// Variable that holds the token operators must show.
    pub token_env: Option<String>,
}
