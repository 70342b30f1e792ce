//! Under which URIs clients see the resources and templates of many servers: their own, wherever that is unambiguous.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// How many servers use a URI.
#[derive(Default)]
struct Wanting {
    all: usize,
    ours: usize,
}

/// Gives each entry its URI: verbatim, or `{server}+{uri}` where two servers use the same one and it is not that of the
/// only one that `is_ours`. `servers` and `entries` are as for names. All URIs are different from each other.
pub(super) fn give(
    servers: &[&str],
    entries: &[(usize, &Arc<str>)],
    is_ours: &dyn Fn(usize) -> bool,
) -> Vec<Arc<str>> {
    let mut wanting: HashMap<&str, Wanting> = HashMap::with_capacity(entries.len());
    for (server, uri) in entries {
        let wanting = wanting.entry(uri).or_default();
        wanting.all += 1;
        wanting.ours += usize::from(is_ours(*server));
    }
    let keeps = |server: usize, uri: &str| {
        wanting.get(uri).is_none_or(|count| count.all == 1 || (count.ours == 1 && is_ours(server)))
    };
    let mut renamed: HashSet<Arc<str>> = HashSet::new();
    let mut give_one = |server: usize, uri: &Arc<str>| {
        if keeps(server, uri) {
            return uri.clone();
        }
        let server = servers.get(server).copied().unwrap_or_default();
        let mut exposed = String::from(&*of_server(server, uri));
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

/// A URI with the name of its server before it.
pub(super) fn of_server(server: &str, uri: &str) -> Arc<str> {
    Arc::from(format!("{server}+{uri}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(entries: &[(usize, &str)], expected: &[&str]) {
        check_with(&[], entries, expected);
    }

    fn check_with(ours: &[usize], entries: &[(usize, &str)], expected: &[&str]) {
        let owned: Vec<(usize, Arc<str>)> =
            entries.iter().map(|(server, uri)| (*server, Arc::from(*uri))).collect();
        let borrowed: Vec<(usize, &Arc<str>)> = owned.iter().map(|(server, uri)| (*server, uri)).collect();
        let given = give(&["git", "web"], &borrowed, &|server| ours.contains(&server));
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
    fn nobody_takes_a_uri_from_a_server_of_this_process() {
        check_with(&[1], &[(0, "skill://a"), (1, "skill://a")], &["git+skill://a", "skill://a"]);
        check_with(&[0, 1], &[(0, "skill://a"), (1, "skill://a")], &["git+skill://a", "web+skill://a"]);
    }

    #[test]
    fn a_renamed_uri_never_takes_one_that_a_server_uses() {
        check(
            &[(0, "https://x"), (1, "https://x"), (1, "git+https://x")],
            &["git+git+https://x", "web+https://x", "git+https://x"],
        );
    }
}
