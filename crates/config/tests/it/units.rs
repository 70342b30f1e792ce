//! Times, amounts and texts as people write them.

use std::time::Duration;

use toolgate_config::{byte_size, duration, environment};

use crate::scene::loaded_text;

#[test]
fn lengths_of_time() {
    let check = |text: &str, ms: Option<u64>| {
        assert_eq!(duration::parse(text).ok(), ms.map(Duration::from_millis), "{text}");
    };
    check("30s", Some(30_000));
    check("500ms", Some(500));
    check("5m", Some(300_000));
    check("1m30s", Some(90_000));
    check("1h 30m", Some(5_400_000));
    check("1.5h", Some(5_400_000));
    check("7d", Some(604_800_000));
    check("30", Some(30_000));
    check("0.25", Some(250));
    check("0", Some(0));
    for bad in ["", "s", "5 parsecs", "-5s", "-1", "1e300", "inf", "NaN", "5s5", "s5", "1..2s"] {
        check(bad, None);
    }
}

#[test]
fn amounts_of_bytes() {
    let check = |text: &str, bytes: Option<usize>| assert_eq!(byte_size::parse(text).ok(), bytes, "{text}");
    check("65536", Some(65536));
    check("64KB", Some(64 << 10));
    check("64 kb", Some(64 << 10));
    check("10MiB", Some(10 << 20));
    check("1g", Some(1 << 30));
    check("1.5M", Some(3 << 19));
    check("12B", Some(12));
    for bad in ["", "MB", "-1", "ten", "1TB", "99999999999999999999", "18446744073709551615GB", "1.2.3K"] {
        check(bad, None);
    }
}

#[test]
fn text_keeps_its_letters() {
    let env = "servers:\n  a:\n    command: x\n    env: {PIN: 0755, BIG: 12345678901234567890123, YES: yes, \
               ON: true, FLOAT: 1.10, EMPTY: \"\"}\n";
    let loaded = loaded_text("toolgate.yaml", env);
    assert_eq!(loaded.problems, []);
    let value = |name: &str| loaded.config.servers["a"].env[name].expose().to_owned();
    assert_eq!(value("PIN"), "0755");
    assert_eq!(value("BIG"), "12345678901234567890123");
    assert_eq!(value("YES"), "yes");
    assert_eq!(value("ON"), "true");
    assert_eq!(value("FLOAT"), "1.10");
    assert_eq!(value("EMPTY"), "");
}

#[test]
fn command_lines() {
    let check = |line: &str, words: &[&str]| assert_eq!(environment::split_words(line), words, "{line}");
    check("npx -y pkg", &["npx", "-y", "pkg"]);
    check("  a   b ", &["a", "b"]);
    check("'my dir/x' \"y z\"w ''", &["my dir/x", "y zw", ""]);
    check(r#"a\ b "c\"d" 'e\f'"#, &["a b", "c\"d", "e\\f"]);
    check("", &[]);
}
