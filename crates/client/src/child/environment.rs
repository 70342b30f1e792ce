//! What a child may know of our environment: enough to run, none of our secrets.

use std::ffi::{OsStr, OsString};

const ALLOWED: [&str; 14] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TERM",
    "TMPDIR",
    "TZ",
    "PWD",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
];

const ALLOWED_BEGINNINGS: [&str; 2] = ["LC_", "XDG_"];

/// The variables of ours that a child gets.
pub(super) fn inherited() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| is_allowed(name))
}

fn is_allowed(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| {
        ALLOWED.contains(&name) || ALLOWED_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_harmless_variables_are_handed_on() {
        let check = |name: &str, expected: bool| assert_eq!(is_allowed(OsStr::new(name)), expected, "{name}");
        check("PATH", true);
        check("LC_ALL", true);
        check("XDG_CACHE_HOME", true);
        check("AWS_SECRET_ACCESS_KEY", false);
        check("TOOLGATE_SECRET", false);
        check("path", false);
        check("LD_PRELOAD", false);
    }
}
