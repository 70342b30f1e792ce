use std::time::Duration;

use toolgate_config::Redaction;

use super::*;

#[test]
fn the_disk_is_asked_as_often_as_the_file_says() {
    let check = |yaml: &str, expected: Durability| {
        let wanted: LedgerConfig = serde_json::from_str(yaml).unwrap();
        assert_eq!(settings(&wanted, PathBuf::new()).durability, expected, "{yaml}");
    };
    check("{}", Durability::Interval(Duration::from_millis(200)));
    check(r#"{"fsync_interval": "1s"}"#, Durability::Interval(Duration::from_secs(1)));
    check(r#"{"fsync": "always"}"#, Durability::Always);
}

#[test]
fn a_rule_without_a_text_leaves_that_of_an_earlier_one() {
    let rule = |keys: &[&str], replace: Option<&str>| Redaction {
        keys: keys.iter().map(|&key| key.to_owned()).collect(),
        replace: replace.map_or_else(|| Redaction::default().replace, str::to_owned),
        ..Redaction::default()
    };
    let mut config = Config::default();
    config.ledger.redact = vec![rule(&["pin"], Some("gone")), rule(&["iban"], None)];
    let rules = redaction(&config);
    assert_eq!(rules.replacement, "gone");
    assert!(["pin", "iban"].iter().all(|key| rules.keys.contains(&(*key).to_owned())));
    config.ledger.redact.reverse();
    assert_eq!(redaction(&config).replacement, "gone");
}
