//! A table of policies and what they decide: is the thing listed, may it be used, and which rule says so.

#![expect(clippy::unwrap_used, reason = "a test whose scene cannot be set must fail")]

use std::sync::Arc;

use serde_json::{Value, json};
use toolgate_governance::rules::Rules;
use toolgate_governance::{Policy, Standing, Subject, Verdict};

use Verdict::{Allowed, Hidden, Refused};

const READ: Subject<'_> =
    Subject { kind: toolgate_governance::Kind::Tool, server: "files", name: "read", exposed: "files__read" };

fn standing(rules: Value, caller: &str, groups: &[&str]) -> (Standing, usize) {
    let rules: Rules = serde_json::from_value(rules).unwrap();
    let (policy, problems) = Policy::compile(&rules, 1);
    (policy.standing(caller.into(), groups.iter().map(|group| Arc::from(*group)).collect()), problems.len())
}

fn only(rule: Value) -> Value {
    json!({"policy": {"default": "deny", "rules": [rule]}})
}

fn but(rule: Value) -> Value {
    json!({"policy": {"rules": [rule]}})
}

fn both(default: &str, one: Value, other: Value) -> Value {
    json!({"policy": {"default": default, "rules": [one, other]}})
}

/// Anna, who is in the group `staff`, wants to use `read` of `files` without arguments.
#[test]
fn rules_about_callers_and_things() {
    let allow = json!({"effect": "allow"});
    let deny = json!({"effect": "deny"});
    let hide = json!({"effect": "hide"});
    let with = |effect: &Value, more: Value| {
        let mut rule = effect.clone();
        for (key, value) in more.as_object().unwrap() {
            rule[key] = value.clone();
        }
        rule
    };
    let table: Vec<(Value, bool, Verdict, &str)> = vec![
        // Defaults.
        (json!({}), true, Allowed, "policy.default"),
        (json!({"policy": {"default": "allow"}}), true, Allowed, "policy.default"),
        (json!({"policy": {"default": "deny"}}), false, Hidden, "policy.default"),
        // Whom a rule covers.
        (only(allow.clone()), true, Allowed, "policy.rules[0]"),
        (only(with(&allow, json!({"callers": ["anna"]}))), true, Allowed, "policy.rules[0]"),
        (only(with(&allow, json!({"callers": ["bert"]}))), false, Hidden, "policy.default"),
        (only(with(&allow, json!({"callers": ["an*"]}))), true, Allowed, "policy.rules[0]"),
        (only(with(&allow, json!({"callers": ["ann?"]}))), true, Allowed, "policy.rules[0]"),
        (only(with(&allow, json!({"groups": ["staff"]}))), true, Allowed, "policy.rules[0]"),
        (only(with(&allow, json!({"groups": ["st*"]}))), true, Allowed, "policy.rules[0]"),
        (only(with(&allow, json!({"groups": ["anna"]}))), false, Hidden, "policy.default"),
        (
            only(with(&allow, json!({"callers": ["bert"], "groups": ["staff"]}))),
            true,
            Allowed,
            "policy.rules[0]",
        ),
        (
            only(with(&allow, json!({"callers": ["anna"], "groups": ["admins"]}))),
            true,
            Allowed,
            "policy.rules[0]",
        ),
        // What a rule covers.
        (only(with(&allow, json!({"servers": ["files"]}))), true, Allowed, "policy.rules[0]"),
        (only(with(&allow, json!({"servers": ["web"]}))), false, Hidden, "policy.default"),
        (only(with(&allow, json!({"servers": ["f*"], "tools": ["r*"]}))), true, Allowed, "policy.rules[0]"),
        (only(with(&allow, json!({"servers": ["web"], "tools": ["read"]}))), false, Hidden, "policy.default"),
        (only(with(&allow, json!({"tools": ["write", "read"]}))), true, Allowed, "policy.rules[0]"),
        (only(with(&allow, json!({"tools": ["files__read"]}))), false, Hidden, "policy.default"),
        (only(with(&allow, json!({"resources": ["*"]}))), false, Hidden, "policy.default"),
        (only(with(&allow, json!({"prompts": ["read"]}))), false, Hidden, "policy.default"),
        // Deny leaves things listed, hide does not.
        (but(deny.clone()), true, Refused, "policy.rules[0]"),
        (but(hide.clone()), false, Hidden, "policy.rules[0]"),
        (but(with(&deny, json!({"id": "no-read", "tools": ["read"]}))), true, Refused, "no-read"),
        (but(with(&deny, json!({"tools": ["write"]}))), true, Allowed, "policy.default"),
        (but(with(&hide, json!({"callers": ["bert"]}))), true, Allowed, "policy.default"),
        // Separate rules for listing and calling.
        (but(with(&deny, json!({"actions": ["list"]}))), false, Allowed, "policy.default"),
        (but(with(&deny, json!({"actions": ["list", "call"]}))), false, Hidden, "policy.rules[0]"),
        (but(with(&deny, json!({"actions": ["read"]}))), true, Allowed, "policy.default"),
        (only(with(&allow, json!({"actions": ["call"]}))), false, Allowed, "policy.rules[0]"),
        (only(with(&allow, json!({"actions": ["list"]}))), true, Refused, "policy.default"),
        (but(with(&hide, json!({"actions": ["call"]}))), false, Hidden, "policy.rules[0]"),
        // Hide beats deny, deny beats allow, in any order.
        (both("allow", deny.clone(), hide.clone()), false, Hidden, "policy.rules[1]"),
        (both("allow", hide.clone(), deny.clone()), false, Hidden, "policy.rules[0]"),
        (both("deny", allow.clone(), deny.clone()), true, Refused, "policy.rules[1]"),
        (both("deny", deny.clone(), allow.clone()), true, Refused, "policy.rules[0]"),
        (
            both("deny", with(&deny, json!({"callers": ["anna"]})), allow.clone()),
            true,
            Refused,
            "policy.rules[0]",
        ),
        // Denied without being allowed to be seen: a refusal would give it away.
        (only(deny.clone()), false, Hidden, "policy.rules[0]"),
        // What a server may offer.
        (json!({"server_allowed": {"files": ["read"]}}), true, Allowed, "policy.default"),
        (json!({"server_allowed": {"files": ["re*"]}}), true, Allowed, "policy.default"),
        (json!({"server_allowed": {"files": []}}), false, Hidden, "allowed_tools"),
        (json!({"server_allowed": {"files": ["write"]}}), false, Hidden, "allowed_tools"),
        (json!({"server_allowed": {"web": []}}), true, Allowed, "policy.default"),
        (
            json!({"server_allowed": {"files": ["write"]}, "policy": {"rules": [allow.clone()]}}),
            false,
            Hidden,
            "allowed_tools",
        ),
        (
            json!({"server_allowed": {"files": ["read"]}, "policy": {"rules": [deny.clone()]}}),
            true,
            Refused,
            "policy.rules[0]",
        ),
    ];
    assert!(table.len() >= 40);
    for (rules, listed, verdict, rule) in table {
        let (standing, problems) = standing(rules.clone(), "anna", &["staff"]);
        assert_eq!(problems, 0, "{rules}");
        assert_eq!(standing.is_visible(&READ, None), listed, "listed under {rules}");
        let decision = standing.decide_use(&READ, None, None, jiff::Timestamp::UNIX_EPOCH);
        assert_eq!((decision.verdict, &*decision.rule), (verdict, rule), "under {rules}");
    }
}

/// Conditions decide at the call; lists show what may be possible.
#[test]
fn conditions_on_callers_and_arguments() {
    let rule = |effect: &str, when: &str| json!({"effect": effect, "when": when});
    for (rules, arguments, listed, verdict) in [
        (only(rule("allow", "'staff' in caller.groups")), "{}", true, Allowed),
        (only(rule("allow", "'admins' in caller.groups")), "{}", false, Hidden),
        (only(rule("allow", "arguments.path.startsWith('/tmp/')")), r#"{"path":"/tmp/x"}"#, true, Allowed),
        (only(rule("allow", "arguments.path.startsWith('/tmp/')")), r#"{"path":"/etc/x"}"#, true, Refused),
        (only(rule("allow", "arguments.path.startsWith('/tmp/')")), "{}", true, Refused),
        (only(rule("allow", "now.getFullYear() == 1970")), "{}", true, Allowed),
        (but(rule("deny", "arguments.amount > 100")), r#"{"amount":101}"#, true, Refused),
        (but(rule("deny", "arguments.amount > 100")), r#"{"amount":100}"#, true, Allowed),
        (but(rule("deny", "arguments.amount > 100")), r#"{"amount":"many"}"#, true, Refused),
        (but(rule("deny", "arguments.amount > 100")), "not json", true, Refused),
        (but(rule("deny", "arguments.amount > 100")), "{}", true, Refused),
        (but(rule("hide", "caller.id.startsWith('an')")), "{}", false, Hidden),
        (but(rule("hide", "caller.id == 'bert'")), "{}", true, Allowed),
        (but(rule("hide", "caller.nonsense == 'bert'")), "{}", false, Hidden),
        (but(rule("deny", "server == 'files' && tool == 'read'")), "{}", true, Refused),
    ] {
        let (standing, problems) = standing(rules.clone(), "anna", &["staff"]);
        assert_eq!(problems, 0, "{rules}");
        assert_eq!(standing.is_visible(&READ, None), listed, "listed under {rules}");
        let decision =
            standing.decide_use(&READ, None, Some(arguments.as_bytes()), jiff::Timestamp::UNIX_EPOCH);
        assert_eq!(decision.verdict, verdict, "{rules} with {arguments}: {}", decision.words);
    }
}

/// A rule that cannot be read denies what it covers, and nothing else.
#[test]
fn unreadable_rules_deny_what_they_cover() {
    let endless = "x".repeat(2000);
    for (rules, read, write) in [
        (but(json!({"effect": "allow", "tools": ["read"], "when": "((("})), Refused, Allowed),
        (but(json!({"effect": "deny", "tools": ["read"], "when": "nobody.knows"})), Refused, Allowed),
        (but(json!({"effect": "hide", "tools": ["read"], "when": "((("})), Hidden, Allowed),
        (but(json!({"effect": "hide", "tools": ["read"], "when": "arguments.x == 1"})), Hidden, Allowed),
        (
            but(
                json!({"effect": "deny", "tools": ["read"], "actions": ["list"], "when": "arguments.x == 1"}),
            ),
            Hidden,
            Allowed,
        ),
        (but(json!({"effect": "allow", "callers": ["anna"], "tools": [endless]})), Refused, Refused),
        (but(json!({"effect": "allow", "callers": [""], "tools": ["read"]})), Refused, Allowed),
        (json!({"approvals": [{"mode": "never", "tools": ["read"], "when": "((("}]}), Refused, Allowed),
        (json!({"quotas": [{"tools": ["read"], "time_zone": "Mars/Olympus"}]}), Refused, Allowed),
        (json!({"prices": [{"tools": ["read", ""], "price": 5}]}), Refused, Refused),
        (json!({"server_allowed": {"files": [""]}}), Hidden, Hidden),
    ] {
        let (standing, problems) = standing(rules.clone(), "anna", &[]);
        assert_eq!(problems, 1, "{rules}");
        let write_tool = Subject::tool("files", "write");
        let verdicts = [READ, write_tool].map(|subject| {
            standing.decide_use(&subject, None, Some(b"{}"), jiff::Timestamp::UNIX_EPOCH).verdict
        });
        assert_eq!(verdicts, [read, write], "{rules}");
    }
}

/// Callers share a class exactly when they see the same.
#[test]
fn visibility_classes_follow_what_lists_show() {
    let rules = json!({
        "policy": {"rules": [
            {"effect": "hide", "groups": ["guests"], "tools": ["write"]},
            {"effect": "deny", "callers": ["carl"], "tools": ["read"]},
        ]},
        "quotas": [{"callers": ["dora"], "calls_per_minute": 5}],
    });
    let rules: Rules = serde_json::from_value(rules).unwrap();
    let (policy, _) = Policy::compile(&rules, 7);
    let class = |caller: &str, groups: &[&str]| {
        let groups = groups.iter().map(|group| Arc::from(*group)).collect();
        policy.standing(caller.into(), groups).visibility_class()
    };
    assert_eq!(class("anna", &[]), class("bert", &["staff"]));
    assert_eq!(class("anna", &[]), class("carl", &[]), "a plain deny does not change lists");
    assert_ne!(class("anna", &[]), class("gina", &["guests"]));
    assert_eq!(class("gina", &["guests"]), class("hugo", &["guests", "staff"]));
    assert_ne!(class("anna", &[]), class("dora", &[]), "limits are shown in lists");

    let looks_at_callers = but(json!({"effect": "hide", "when": "caller.id == 'bert'"}));
    let (policy, _) = Policy::compile(&serde_json::from_value(looks_at_callers).unwrap(), 8);
    let class = |caller: &str| policy.standing(caller.into(), Arc::default()).visibility_class();
    assert_ne!(class("anna"), class("bert"));
    assert_eq!(class("anna"), class("anna"));
}
