//! What a reload keeps of the servers in effect: those whose records are there and cannot be read, half written perhaps.
//! A bad record costs only itself, and not what was there before it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::load::Loaded;
use crate::model::Config;

/// The files in which the servers in effect were written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Homes {
    files: BTreeMap<String, PathBuf>,
}

impl Homes {
    /// Those of a configuration.
    pub fn of(loaded: &Loaded) -> Homes {
        let home = |name: &String| Some((name.clone(), loaded.file_of(name)?.to_path_buf()));
        Homes { files: loaded.config.servers.keys().filter_map(home).collect() }
    }

    /// Puts servers that are in effect into a configuration that was read anew and lacks them because what is written of
    /// them cannot be read; which, and why.
    pub fn keep_unreadable(&self, in_effect: &Config, loaded: &mut Loaded) -> BTreeMap<String, String> {
        let mut kept = BTreeMap::new();
        for (name, server) in &in_effect.servers {
            let in_file = || self.files.get(name).and_then(|home| loaded.skipped.files.get(home));
            let wrong =
                loaded.skipped.servers.get(name).and_then(|problems| problems.first()).or_else(in_file);
            if let Some(wrong) = wrong.map(ToString::to_string)
                && !loaded.config.servers.contains_key(name)
            {
                loaded.config.servers.insert(name.clone(), server.clone());
                kept.insert(name.clone(), wrong);
            }
        }
        kept
    }

    /// A configuration is in effect that has kept some servers, which stay where they were written.
    pub fn follow(&mut self, loaded: &Loaded, kept: &BTreeMap<String, String>) {
        self.files.retain(|name, _| kept.contains_key(name));
        self.files.extend(Homes::of(loaded).files);
    }
}
