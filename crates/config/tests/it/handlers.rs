//! Handlers: Python functions that become servers.

use toolgate_config::{ServerConfig, diff};

use crate::scene::{folder_with, loaded};

/// The server that a record of handlers becomes, in a folder with these files.
fn server(files: &[(&str, &str)], record: &str) -> (ServerConfig, String) {
    let yaml = format!("handlers:\n  shop: {record}\n");
    let folder = folder_with(&[files, &[("toolgate.yaml", yaml.as_str())]].concat());
    let loaded = loaded(&[folder.path().join("toolgate.yaml")]);
    assert_eq!(loaded.problems, [], "{record}");
    (loaded.config.servers["shop"].clone(), folder.path().display().to_string())
}

/// The problems of a file.
fn said(yaml: &str) -> String {
    let folder = folder_with(&[("toolgate.yaml", yaml), ("tools.py", "")]);
    let loaded = loaded(&[folder.path().join("toolgate.yaml")]);
    let told = loaded.problems.iter().map(|problem| format!("{}: {}", problem.path, problem.what));
    told.collect::<Vec<_>>().join("; ").replace(&folder.path().display().to_string(), "HERE")
}

#[test]
fn paths_mean_the_folder_of_the_file() {
    let check = |files: &[(&str, &str)], record: &str, expected: &str| {
        let (server, folder) = server(files, record);
        let line = format!("{} {}", server.command.unwrap(), server.args.join(" "));
        assert_eq!(line.replace(&folder, "HERE"), expected, "{record}");
        assert_eq!(server.cwd.unwrap().display().to_string(), folder);
    };
    let tools = ("tools.py", "");
    check(
        &[tools],
        "{modules: [tools.py, shop.orders]}",
        "python3 -m toolgate.worker --strict HERE/tools.py shop.orders",
    );
    check(
        &[tools, (".venv/bin/python", "")],
        "{modules: [./tools.py]}",
        "HERE/.venv/bin/python -m toolgate.worker --strict HERE/tools.py",
    );
    check(
        &[("env/bin/python", ""), (".venv/bin/python", "")],
        "{modules: [shop], venv: env, dev: true}",
        "HERE/env/bin/python -m toolgate.worker --strict --dev shop",
    );
    check(&[], "{modules: [shop], python: pypy3}", "pypy3 -m toolgate.worker --strict shop");
    check(
        &[("project/pyproject.toml", "")],
        "{modules: [shop], uv: project}",
        "uv run --project HERE/project python -m toolgate.worker --strict shop",
    );
}

#[test]
fn the_limits_of_a_server_are_theirs_too() {
    let (server, _) =
        server(&[], "{modules: [a], processes: 3, call_timeout: 5s, allowed_tools: [x], env: {A: b}}");
    assert_eq!((server.processes, server.call_timeout.as_secs()), (3, 5));
    assert_eq!(server.allowed_tools, Some(vec!["x".to_owned()]));
    assert_eq!(server.env["A"].expose(), "b");
    assert!(server.trust_prices && server.sources.is_some_and(|sources| sources.watch));
}

#[test]
fn what_is_wrong_is_said() {
    let check = |record: &str, expected: &str| {
        assert_eq!(said(&format!("handlers:\n  shop: {record}\n")), expected, "{record}");
    };
    check("{modules: [tools.py]}", "");
    check("{processes: 2}", "handlers.shop: `modules` is missing");
    check("{modules: []}", "handlers.shop.modules: no module is listed");
    check("{modules: [none.py]}", "handlers.shop.modules: HERE/none.py does not exist");
    check("{modules: [--check]}", "handlers.shop.modules: this is no module");
    check("{modules: [a], command: x}", "handlers.shop.command: unknown key `command`");
    check("{modules: [a], proceses: 2}", "handlers.shop.proceses: unknown key `proceses`");
    check("{modules: [a], processes: 0}", "handlers.shop.processes: 0 is out of range");
    check("{modules: [a], python: x, uv: .}", "handlers.shop.uv: what runs the handlers is said twice");
    check("{modules: [a], venv: none}", "handlers.shop.venv: there is no Python in HERE/none");
    check("", "handlers.shop: this server has no record");
    let twice = said("servers:\n  shop: {command: x}\nhandlers:\n  shop: {modules: [a]}\n");
    assert!(twice.starts_with("handlers.shop: a server has this name already"), "{twice}");
}

#[test]
fn they_are_shown_and_compared_once() {
    let folder = folder_with(&[("toolgate.yaml", "handlers:\n  shop: {modules: [a], env: {A: s3cret}}\n")]);
    let path = folder.path().join("toolgate.yaml");
    let before = loaded(std::slice::from_ref(&path));
    let shown = serde_json::to_value(&before.config).unwrap();
    assert_eq!(shown["servers"], serde_json::json!({}));
    assert_eq!(shown["handlers"]["shop"]["modules"], serde_json::json!(["a"]));
    assert!(shown["handlers"]["shop"].get("command").is_none() && !shown.to_string().contains("s3cret"));
    std::fs::write(&path, "handlers:\n  shop: {modules: [a, b], env: {A: s3cret}}\n").unwrap();
    let difference = diff::difference(&before.config, &loaded(&[path]).config);
    assert_eq!(difference.changed.keys().collect::<Vec<_>>(), ["shop"]);
    assert!(difference.needs_restart.is_empty() && difference.settings.is_empty(), "{difference:?}");
}
