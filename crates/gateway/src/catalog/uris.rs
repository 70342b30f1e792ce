//! Under which URIs clients see the resources and templates of many servers: their own, wherever that is unambiguous.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Gives each entry its URI: verbatim, or `{server}+{uri}` where two servers use the same one. `servers` and `entries` are
/// as for names. All URIs are different from each other.
pub(super) fn give(servers: &[&str], entries: &[(usize, &Arc<str>)]) -> Vec<Arc<str>> {
    let mut wanting: HashMap<&str, usize> = HashMap::with_capacity(entries.len());
    for (_, uri) in entries {
        *wanting.entry(uri).or_default() += 1;
    }
    let shared = |uri: &str| wanting.get(uri).is_some_and(|count| *count > 1);
    let mut renamed: HashSet<Arc<str>> = HashSet::new();
    let mut give_one = |server: usize, uri: &Arc<str>| {
        if !shared(uri) {
            return uri.clone();
        }
        let server = servers.get(server).copied().unwrap_or_default();
        let mut exposed = format!("{server}+{uri}");
        // `git` with `https://…` may meet a server's own `git+https://…`.
        while wanting.contains_key(exposed.as_str()) || renamed.contains(exposed.as_str()) {
            exposed = format!("{server}+{exposed}");
        }
        let exposed: Arc<str> = Arc::from(exposed);
        renamed.insert(exposed.clone());
        exposed
    };
    entries.iter().map(|(server, uri)| give_one(*server, uri)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(entries: &[(usize, &str)], expected: &[&str]) {
        let owned: Vec<(usize, Arc<str>)> =
            entries.iter().map(|(server, uri)| (*server, Arc::from(*uri))).collect();
        let borrowed: Vec<(usize, &Arc<str>)> = owned.iter().map(|(server, uri)| (*server, uri)).collect();
        let given = give(&["git", "web"], &borrowed);
        assert_eq!(given.iter().map(AsRef::as_ref).collect::<Vec<&str>>(), expected);
    }

    #[test]
    fn only_equal_uris_change() {
        check(&[(0, "file:///a"), (1, "file:///b")], &["file:///a", "file:///b"]);
        check(
            &[(0, "file:///a"), (0, "file:///c"), (1, "file:///a")],
            &["git+file:///a", "file:///c", "web+file:///a"],
        );
    }

    #[test]
    fn a_renamed_uri_never_takes_one_that_a_server_uses() {
        check(
            &[(0, "https://x"), (1, "https://x"), (1, "git+https://x")],
            &["git+git+https://x", "web+https://x", "git+https://x"],
        );
    }
}
