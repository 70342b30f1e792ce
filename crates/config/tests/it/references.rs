//! References in values, and what happens when they lead nowhere.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::scene::{folder_with, loaded, loaded_strictly, loaded_with};
use toolgate_config::reference;

/// The argument of the only server after loading, or why the server is disabled.
fn expanded(argument: &str, variables: &[(&str, &str)]) -> Result<String, String> {
    let text = format!("servers:\n  a:\n    command: x\n    args: [{}]\n", serde_json::json!(argument));
    let folder = folder_with(&[("toolgate.yaml", text.as_str()), ("secret.txt", "from file\n")]);
    let loaded = loaded_with(&[folder.path().join("toolgate.yaml")], variables);
    assert_eq!(loaded.problems, []);
    match loaded.config.servers.get("a") {
        Some(server) => Ok(server.args[0].clone()),
        None => Err(loaded.disabled["a"].clone()),
    }
}

#[test]
fn references_become_values() {
    let check = |argument: &str, expected: &str| {
        let variables = [("USER", "ann"), ("EMPTY", ""), ("DOLLARS", "${USER}$$")];
        assert_eq!(expanded(argument, &variables).as_deref(), Ok(expected), "{argument}");
    };
    check("${USER}", "ann");
    check("--user=${USER}!", "--user=ann!");
    check("${ENV:USER}", "ann");
    check("${env:USER}", "ann");
    check("${NOBODY:-someone}", "someone");
    check("${ENV:NOBODY:-}", "");
    check("${USER:-someone}", "ann");
    check("${EMPTY}", "");
    check("${EMPTY:-default}", "default");
    check("${file:secret.txt}", "from file");
    check("$${USER}", "${USER}");
    check("$USER $1 a$", "$USER $1 a$");
    check("${USER}${USER}", "annann");
    check("${DOLLARS}", "${USER}$$");
    check("${X:-a:-b}", "a:-b");
    check(r#"${X:-{"a": {"b": 1}}}!"#, r#"{"a": {"b": 1}}!"#);
    check(r#"${USER:-{"a": 1}}!"#, "ann!");
    check("${X:-{}", "{");
}

#[test]
fn references_without_a_value_say_which() {
    let check = |argument: &str, expected: &str| {
        let reason = expanded(argument, &[]).unwrap_err();
        assert!(reason.contains(expected), "{argument}: {reason}");
    };
    check("${NOBODY}", "the variable NOBODY is not set; set it, or give a default with ${NOBODY:-…}");
    check("${ENV:NOBODY}", "the variable NOBODY is not set");
    check("${UNCLOSED", "has no closing `}`");
    check("${two words}", "`${two words}` is not a reference");
    check("${file:absent.txt}", "absent.txt");
    check("${file:/dev/zero}", "/dev/zero: larger than 65536 bytes");
}

#[test]
fn env_file_lists_variables() {
    let folder = folder_with(&[
        ("t.yaml", "servers:\n  a: {command: x, env_file: sub/.env, env_from: [B], env: {A: 1}}\n"),
        ("sub/.env", "A=from the file\nB=from the file\nexport C=\"c c\"\n"),
    ]);
    let path = [folder.path().join("t.yaml")];
    let both = loaded_with(&path, &[("B", "from us")]);
    let env: Vec<_> =
        both.config.servers["a"].env.iter().map(|(name, value)| (name.as_str(), value.expose())).collect();
    assert_eq!(env, [("A", "1"), ("B", "from us"), ("C", "c c")]);
    assert!(both.files.files.contains(&folder.path().join("sub/.env")), "it is watched");
    std::fs::write(folder.path().join("sub/.env"), "A=1\nwhat\n").unwrap();
    let broken = loaded_with(&path, &[("B", "from us")]);
    assert!(broken.disabled["a"].ends_with("sub/.env:2: expected NAME=value"), "{}", broken.disabled["a"]);
    std::fs::remove_file(folder.path().join("sub/.env")).unwrap();
    assert!(loaded_with(&path, &[("B", "")]).disabled["a"].contains("No such file"));
}

#[test]
fn relative_paths_are_those_of_their_file() {
    let text = "state_dir: state\nskills: {dir: ./skills}\nledger: {dir: ~/ledger}\nadmin: {token_file: /token}\n\
                callers:\n  keys_file: ../keys\n  \
                jwt: [{issuer: i, audience: a, jwks_file: jwks.json}]\n\
                listen: {tls: {cert_file: c.pem, key_file: \"${KEY}\"}}\nservers: {a: {command: ./x, cwd: w}}\n";
    let folder = folder_with(&[("conf/toolgate.yaml", text)]);
    let path = folder.path().join("conf/toolgate.yaml");
    let loaded = loaded_with(&[path], &[("HOME", "/h"), ("KEY", "k.pem")]);
    assert_eq!(loaded.problems, []);
    let config = &loaded.config;
    let conf = folder.path().join("conf");
    assert_eq!(config.state_dir, Some(conf.join("state")));
    assert_eq!(config.skills.dir, Some(conf.join("skills")));
    assert_eq!(config.ledger.dir, Some("/h/ledger".into()));
    assert_eq!(config.admin.token_file, Some("/token".into()));
    assert_eq!(config.callers.keys_file, Some(conf.join("../keys")));
    assert_eq!(config.callers.jwt[0].jwks_file, Some(conf.join("jwks.json")));
    let tls = config.listen.tls.as_ref().unwrap();
    assert_eq!((&tls.cert_file, &tls.key_file), (&conf.join("c.pem"), &conf.join("k.pem")));
    assert_eq!(config.servers["a"].cwd, Some(conf.join("w")));
    assert_eq!(config.servers["a"].command.as_deref(), Some("./x"), "a program is found from its own folder");
}

#[test]
fn env_from_hands_variables_on() {
    let folder = folder_with(&[(
        "toolgate.yaml",
        "servers:\n  a: {command: x, env_from: [API_TOKEN], env: {OTHER: 1}}\n  b: {command: x}\n",
    )]);
    let path = [folder.path().join("toolgate.yaml")];
    let with = loaded_with(&path, &[("API_TOKEN", "t0p")]);
    assert_eq!(with.config.servers["a"].env["API_TOKEN"].expose(), "t0p");
    assert_eq!(with.config.servers["a"].env["OTHER"].expose(), "1");
    let without = loaded(&path);
    assert_eq!(without.disabled["a"], "the variable API_TOKEN is not set (named in env_from)");
    assert_eq!(without.config.servers.keys().collect::<Vec<_>>(), ["b"]);
    assert_eq!(without.problems, []);
    let strict = loaded_strictly(&path);
    assert_eq!(strict.problems.len(), 1);
    assert_eq!(strict.problems[0].path, "servers.a");
}

#[test]
fn auth_ref_leads_to_a_credential() {
    let folder = folder_with(&[
        (
            "toolgate.yaml",
            "servers:\n  \
             a: {url: http://x/, auth_ref: \"env:TOKEN\"}\n  \
             b: {url: http://x/, auth_ref: \"file:open.txt\"}\n  \
             c: {url: http://x/, auth_ref: \"file:closed.txt\"}\n  \
             d: {url: http://x/, auth_ref: \"vault:x\"}\n  \
             e: {url: http://x/, auth_ref: \"keyring:x\"}\n",
        ),
        ("open.txt", "s3cret"),
        ("closed.txt", "s3cret\n"),
    ]);
    set_mode(&folder.path().join("open.txt"), 0o644);
    set_mode(&folder.path().join("closed.txt"), 0o600);
    let loaded = loaded_with(&[folder.path().join("toolgate.yaml")], &[("TOKEN", "t0p")]);
    let credential =
        |name: &str| loaded.config.servers[name].credential.as_ref().unwrap().expose().to_owned();
    assert_eq!(credential("a"), "t0p");
    assert_eq!(credential("c"), "s3cret");
    assert!(
        loaded.disabled["b"].contains("others can read this secret (mode 644)"),
        "{}",
        loaded.disabled["b"]
    );
    assert!(loaded.disabled["d"].contains("must be env:NAME, file:PATH or keyring:SERVICE/ACCOUNT"));
    assert_eq!(loaded.disabled["e"], "keyring entry x: write it as keyring:SERVICE/ACCOUNT");
    assert!(loaded.files.files.contains(&folder.path().join("closed.txt")), "a secret's file is watched too");
}

fn set_mode(path: &std::path::Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn secrets_never_print() {
    let folder = folder_with(&[(
        "toolgate.yaml",
        "servers:\n  a: {url: http://x/, headers: {Authorization: \"Bearer ${TOKEN}\"}, auth_ref: \"env:TOKEN\"}\n",
    )]);
    let loaded = loaded_with(&[folder.path().join("toolgate.yaml")], &[("TOKEN", "hunter2")]);
    assert!(loaded.config.servers["a"].headers["Authorization"].expose().contains("hunter2"));
    assert!(!format!("{loaded:?}").contains("hunter2"));
    assert!(!serde_json::to_string(&loaded.config).unwrap().contains("hunter2"));
    let shown = format!("{:?}", toolgate_config::show::settings(&loaded));
    assert!(shown.contains("***") && !shown.contains("hunter2"));
}

#[test]
fn secrets_in_arguments_and_addresses_do_not_print_either() {
    let text = "servers:\n  a: {command: x, args: [\"--key=${TOKEN}\", plain]}\n  \
                b: {url: \"http://h/?k=${TOKEN}\"}\n  c: {url: \"https://me:hunter2@h/x?key=hunter2&flag\"}\n\
                log: {level: \"${TOKEN}\"}\nruntime: {call_timeout: \"${TOKEN}\"}\n";
    let folder = folder_with(&[("toolgate.yaml", text)]);
    let loaded = loaded_with(&[folder.path().join("toolgate.yaml")], &[("TOKEN", "hunter2")]);
    assert_eq!(loaded.config.servers["a"].args, ["--key=hunter2", "plain"]);
    assert_eq!(loaded.config.servers["b"].url.as_deref(), Some("http://h/?k=hunter2"));
    let shown = serde_json::to_value(&loaded.config).unwrap();
    assert_eq!(shown["servers"]["a"]["args"], serde_json::json!(["--key=${TOKEN}", "plain"]));
    assert_eq!(shown["servers"]["b"]["url"], "http://h/?k=${TOKEN}");
    assert_eq!(shown["servers"]["c"]["url"], "https://***@h/x?key=***&flag");
    assert_eq!(loaded.problems.len(), 2, "a token is no level and no time");
    assert!(!format!("{loaded:?}{:?}", toolgate_config::show::settings(&loaded)).contains("hunter2"));
}

#[test]
fn a_literal_beside_a_reference_does_not_print_either() {
    let text = "servers:\n  a: {command: \"${HOME}/bin/x\", args: [\"--key=hunter2${X}\", \"${HOME}/notes\"], \
                env: {KEY: \"hunter2-${X}\"}}\n  \
                b: {url: \"https://me:hunter2@${HOST}/x?key=hunter2${X}\", \
                headers: {Authorization: \"Bearer hunter2 ${X:-hunter2}\"}}\n";
    let folder = folder_with(&[("toolgate.yaml", text)]);
    let variables = [("HOME", "/home/me"), ("HOST", "h"), ("X", "x")];
    let loaded = loaded_with(&[folder.path().join("toolgate.yaml")], &variables);
    assert_eq!(loaded.problems, []);
    let servers = &loaded.config.servers;
    assert_eq!(servers["a"].args, ["--key=hunter2x", "/home/me/notes"]);
    assert_eq!(servers["b"].url.as_deref(), Some("https://me:hunter2@h/x?key=hunter2x"));
    let shown = serde_json::to_value(&loaded.config).unwrap();
    let (a, b) = (&shown["servers"]["a"], &shown["servers"]["b"]);
    assert_eq!(a["command"], "${HOME}/bin/x");
    assert_eq!(a["args"], serde_json::json!(["--key=***${X}", "${HOME}/notes"]));
    assert_eq!((&a["env"]["KEY"], &b["headers"]["Authorization"]), (&"***".into(), &"***".into()));
    assert_eq!(b["url"], "https://***@${HOST}/x?key=***${X}");
    let settings = toolgate_config::show::settings(&loaded);
    let url = settings.iter().find(|setting| setting.path == "servers.b.url").unwrap();
    assert_eq!(url.value, b["url"]);
    assert!(!format!("{loaded:?}{settings:?}").contains("hunter2"));
}

#[test]
fn references_work_for_every_kind_of_value() {
    let folder = folder_with(&[(
        "toolgate.yaml",
        "listen: {port: \"${PORT}\"}\nruntime: {auto_reload: \"${R:-no}\"}\n",
    )]);
    let loaded = loaded_with(&[folder.path().join("toolgate.yaml")], &[("PORT", "99")]);
    assert_eq!(loaded.problems, []);
    assert_eq!(loaded.config.listen.port, 99);
    assert!(!loaded.config.runtime.auto_reload);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn escaped_text_comes_back(text in "[ -~äß\u{2028}]{0,40}") {
        prop_assert_eq!(expanded(&reference::escape(&text), &[]), Ok(text));
    }

    #[test]
    fn a_text_of_pieces_is_the_text_of_their_values(
        pieces in prop::collection::vec((0..3usize, "[A-Z]{1,6}", "[a-z $]{0,6}"), 0..6)
    ) {
        // Each piece is plain text, a variable that is set, or a default of one that is not.
        let variables: BTreeMap<String, String> =
            pieces.iter().filter(|piece| piece.0 == 1).map(|(_, name, value)| (name.clone(), value.clone())).collect();
        let mut written = String::new();
        let mut expected = String::new();
        for (kind, name, value) in &pieces {
            match kind {
                0 => {
                    written += &reference::escape(value);
                    expected += value;
                }
                1 => {
                    written += &format!("${{{name}}}");
                    expected += &variables[name];
                }
                _ => {
                    written += &format!("${{UNSET_{name}:-{value}}}");
                    expected += value;
                }
            }
        }
        let set: Vec<(&str, &str)> = variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        prop_assert_eq!(expanded(&written, &set), Ok(expected));
    }

    #[test]
    fn no_text_makes_it_panic(text in "[$}{:\\-A-Za-z\u{e4} ]{0,30}") {
        let _ = expanded(&text, &[("A", "x")]);
    }
}
