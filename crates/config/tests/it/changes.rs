//! What a reload has to touch.

use toolgate_config::diff::{Difference, difference};

use crate::scene::{folder_with, loaded_text, loaded_with};

fn between(old: &str, new: &str) -> Difference {
    let (old, new) = (loaded_text("toolgate.yaml", old), loaded_text("toolgate.yaml", new));
    assert_eq!((old.problems, new.problems), (vec![], vec![]));
    difference(&old.config, &new.config)
}

#[test]
fn servers_are_compared_by_value() {
    let changes = between(
        "servers:\n  same: {command: x}\n  gone: {command: x}\n  other: {command: x, env: {A: 1}}\n",
        "# moved, and written in another way\nservers:\n  other:\n    command: y\n    env: {A: 2}\n  \
         new: {command: x}\n  same: {transport: stdio, command: \"x\", call_timeout: 300}\n",
    );
    assert_eq!(changes.added.iter().collect::<Vec<_>>(), ["new"]);
    assert_eq!(changes.removed.iter().collect::<Vec<_>>(), ["gone"]);
    assert_eq!(changes.changed.keys().collect::<Vec<_>>(), ["other"]);
    assert_eq!(changes.changed["other"], ["env", "command"]);
    assert_eq!((changes.settings.len(), changes.needs_restart.len()), (0, 0));
}

#[test]
fn settings_are_live_or_need_a_restart() {
    let changes = between(
        "listen: {port: 1, allowed_hosts: [a]}\n",
        "listen: {port: 2, allowed_hosts: [b]}\nlog: {level: debug, format: text}\nledger: {dir: /x}\n\
         names: plain\nquotas: [{calls_per_day: 1}]\nruntime: {call_timeout: 9s, max_sessions: 9}\n",
    );
    assert_eq!(changes.settings, ["log.level", "names", "quotas", "runtime.call_timeout"]);
    assert_eq!(
        changes.needs_restart,
        ["ledger.dir", "listen.allowed_hosts", "listen.port", "log.format", "runtime.max_sessions"]
    );
}

#[test]
fn nothing_changed_is_nothing() {
    let text = "servers:\n  a: {command: x}\nquotas:\n  - {calls_per_day: 1}\n";
    assert!(between(text, text).is_empty());
}

#[test]
fn a_new_secret_is_a_change_without_being_told() {
    let folder = folder_with(&[("t.yaml", "servers:\n  a: {url: \"http://h/\", auth_ref: \"env:T\"}\n")]);
    let path = [folder.path().join("t.yaml")];
    let (old, new) = (loaded_with(&path, &[("T", "hunter1")]), loaded_with(&path, &[("T", "hunter2")]));
    let changes = difference(&old.config, &new.config);
    assert_eq!(changes.changed["a"], ["auth_ref"]);
    assert!(!format!("{changes:?}").contains("hunter"));
    let folder = folder_with(&[("t.yaml", "listen: {session_key: \"${T}\"}\n")]);
    let path = [folder.path().join("t.yaml")];
    let keys = ["1", "2"].map(|digit| digit.repeat(32));
    let [old, new] = keys.each_ref().map(|key| loaded_with(&path, &[("T", key)]).config);
    let changes = difference(&old, &new);
    assert_eq!(changes.needs_restart, ["listen.session_key"]);
    assert!(!keys.iter().any(|key| format!("{changes:?} {new:?}").contains(key)));
    let folder = folder_with(&[("t.yaml", "servers:\n  a: {command: x, args: [\"${T}\"]}\n")]);
    let path = [folder.path().join("t.yaml")];
    let (old, new) = (loaded_with(&path, &[("T", "hunter1")]), loaded_with(&path, &[("T", "hunter2")]));
    assert_eq!(difference(&old.config, &new.config).changed["a"], ["args"]);
}
