//! The gate as a whole: the order of its questions, approvals, and explanations that agree with what happens.

#![expect(clippy::unwrap_used, reason = "a test whose scene cannot be set must fail")]

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};
use toolgate_governance::rules::{Approver, Rules};
use toolgate_governance::{
    Admitted, ApprovalShown, ArgumentCheck, ArgumentProblem, Denied, Measure, Meters, Micros, Narrowing,
    Outcome, Policy, Request, Stage, StageOutcome, Standing, Subject, admit, explain,
};

struct Never;

impl ArgumentCheck for Never {
    fn check(&self, _: Option<&[u8]>) -> Result<(), ArgumentProblem> {
        Err(ArgumentProblem::said("/amount".into(), "is missing".into()))
    }
}

fn standing(rules: Value) -> Standing {
    let rules: Rules = serde_json::from_value(rules).unwrap();
    let (policy, problems) = Policy::compile(&rules, 42);
    assert_eq!(problems, []);
    policy.standing("anna".into(), ["staff".into()].into())
}

fn noon() -> Timestamp {
    "2026-08-03T12:00:00Z".parse().unwrap()
}

fn stage_of(denied: &Denied) -> Stage {
    match denied {
        Denied::Unknown { .. } => Stage::Visibility,
        Denied::Refused(refusal) => refusal.stage,
        Denied::Arguments(_) => Stage::Arguments,
    }
}

#[test]
fn questions_are_asked_in_order_and_explanations_agree() {
    let subject = Subject::tool("bank", "pay");
    let hide = json!({"rules": [{"effect": "hide"}]});
    let deny = json!({"rules": [{"effect": "deny"}]});
    let allow = json!({});
    let prices = json!([{"price": 10}]);
    let poor = json!({"budget_per_month": 5, "calls_per_minute": 0});
    let rushed = json!({"calls_per_minute": 0});
    let always = json!([{"mode": "always"}]);
    for (policy, quota, bad_arguments, expected) in [
        (&hide, Some(&poor), true, Stage::Visibility),
        (&deny, Some(&poor), true, Stage::Budget),
        (&deny, Some(&rushed), true, Stage::Rate),
        (&deny, None, true, Stage::Permission),
        (&allow, None, true, Stage::Arguments),
        (&allow, None, false, Stage::Approval),
    ] {
        let quotas: Vec<&Value> = quota.into_iter().collect();
        let standing =
            standing(json!({"policy": policy, "prices": prices, "quotas": quotas, "approvals": always}));
        let meters = Meters::default();
        let check = bad_arguments.then_some(&Never as &dyn ArgumentCheck);
        let request = Request { argument_check: check, ..Request::new(subject, noon()) };
        let stopped = match admit(&standing, &meters, &request, ()) {
            Ok(Admitted::Permitted(_)) => None,
            Ok(Admitted::Waiting(_)) => Some(Stage::Approval),
            Err(denied) => Some(stage_of(&denied)),
        };
        assert_eq!(stopped, Some(expected), "{policy} {quota:?}");
        let explanation = explain(&standing, &meters, &request);
        assert_eq!(explanation.stopped_at, Some(expected));
        assert_eq!((explanation.price, explanation.revision), (Micros(10), 42));
        let stages: Vec<Stage> = explanation.stages.iter().map(|report| report.stage).collect();
        assert!(stages.is_sorted() && stages.len() == 6, "{stages:?}");
        assert!(explanation.stages.iter().all(|report| !report.words.is_empty()));
    }
}

#[test]
fn arguments_that_can_be_read_in_two_ways_are_refused_where_a_condition_looks_at_them() {
    let subject = Subject::tool("bank", "pay");
    let deny = json!({"effect": "deny", "when": "arguments.amount > 100"});
    let allow = json!({"effect": "allow", "when": "arguments.amount <= 100"});
    let ask = json!({"mode": "always", "when": "arguments.amount > 100"});
    for rules in [
        json!({"policy": {"rules": [deny]}}),
        json!({"policy": {"default": "deny", "rules": [allow, {"effect": "allow", "actions": ["list"]}]}}),
        json!({"approvals": [ask]}),
    ] {
        let standing = standing(rules.clone());
        let meters = Meters::default();
        let mut request = Request::new(subject, noon());
        request.arguments = Some(br#"{"amount":5000,"amount":1}"#);
        let denied = admit(&standing, &meters, &request, ()).unwrap_err();
        assert_eq!(stage_of(&denied), Stage::Arguments, "{rules}: {denied}");
        request.arguments = Some(br#"{"amount":1}"#);
        assert!(matches!(admit(&standing, &meters, &request, ()), Ok(Admitted::Permitted(_))), "{rules}");
    }
    // Nobody looks, so nobody is misled.
    let standing = standing(json!({}));
    let mut request = Request::new(subject, noon());
    request.arguments = Some(br#"{"amount":5000,"amount":1}"#);
    assert!(admit(&standing, &Meters::default(), &request, ()).is_ok());
}

#[test]
fn the_first_approval_rule_that_decides_counts() {
    for (approvals, arguments, expected) in [
        (json!([]), "{}", None),
        (json!([{"mode": "always", "tools": ["pay"]}]), "{}", Some(Approver::Operator)),
        (json!([{"mode": "always", "tools": ["look"]}]), "{}", None),
        (json!([{"mode": "always", "by": "user"}]), "{}", Some(Approver::User)),
        (json!([{"mode": "never", "groups": ["staff"]}, {"mode": "always"}]), "{}", None),
        (
            json!([{"mode": "never", "groups": ["guests"]}, {"mode": "always"}]),
            "{}",
            Some(Approver::Operator),
        ),
        (
            json!([{"mode": "policy", "when": "arguments.amount > 10"}]),
            r#"{"amount":11}"#,
            Some(Approver::Operator),
        ),
        (json!([{"mode": "policy", "when": "arguments.amount > 10"}]), r#"{"amount":10}"#, None),
        (json!([{"mode": "policy", "when": "arguments.amount > 10"}]), "{}", Some(Approver::Operator)),
        (json!([{"mode": "policy"}, {"mode": "always", "by": "user"}]), "{}", Some(Approver::User)),
        (json!([{"mode": "policy"}]), "{}", None),
        (
            json!([{"mode": "never", "when": "arguments.amount < 5"}, {"mode": "always"}]),
            r#"{"amount":4}"#,
            None,
        ),
        (
            json!([{"mode": "never", "when": "arguments.amount < 5"}, {"mode": "always"}]),
            "{}",
            Some(Approver::Operator),
        ),
    ] {
        let standing = standing(json!({"approvals": approvals}));
        let request = Request {
            arguments: Some(arguments.as_bytes()),
            ..Request::new(Subject::tool("bank", "pay"), noon())
        };
        let asked = match admit(&standing, &Meters::default(), &request, ()).unwrap() {
            Admitted::Permitted(_) => None,
            Admitted::Waiting(waiting) => Some(waiting.needed().by),
        };
        assert_eq!(asked, expected, "{approvals} {arguments}");
    }
}

#[test]
fn a_part_is_governed_by_its_whole_too() {
    let part = Subject::tool("bank", "safe/key");
    let whole = Subject::tool("bank", "safe");
    let rule =
        |effect: &str| json!({"policy": {"rules": [{"effect": effect, "tools": ["safe"], "id": "r"}]}});
    for (rules, expected) in [
        (rule("hide"), Some(Stage::Visibility)),
        (rule("deny"), Some(Stage::Permission)),
        (json!({"approvals": [{"mode": "always", "tools": ["safe"], "id": "r"}]}), Some(Stage::Approval)),
        (rule("allow"), None),
    ] {
        let standing = standing(rules.clone());
        let meters = Meters::default();
        let stopped = |request: &Request<'_>| match admit(&standing, &meters, request, ()) {
            Ok(Admitted::Permitted(_)) => None,
            Ok(Admitted::Waiting(waiting)) => Some((Stage::Approval, waiting.needed().rule.to_string())),
            Err(Denied::Refused(refusal)) => Some((refusal.stage, refusal.rule.to_string())),
            Err(Denied::Unknown { rule }) => Some((Stage::Visibility, rule.to_string())),
            Err(Denied::Arguments(problem)) => unreachable!("{problem}"),
        };
        let alone = Request::new(part, noon());
        assert_eq!(stopped(&alone), None, "{rules}");
        let request = Request { whole: Some(whole), ..alone };
        assert_eq!(stopped(&request), expected.map(|stage| (stage, "r".to_owned())), "{rules}");
        let explanation = explain(&standing, &meters, &request);
        assert_eq!((explanation.stopped_at, &*explanation.name), (expected, "safe/key"), "{rules}");
    }
}

#[test]
fn lists_show_price_limits_and_approval() {
    let subject = Subject::tool("bank", "pay");
    let shown = standing(json!({
        "prices": [{"price": 10}],
        "quotas": [{"id": "q", "calls_per_day": 5, "max_per_call": 20}, {"callers": ["bert"], "calls_per_day": 1}],
    }))
    .terms_of_use(&subject, None);
    assert_eq!(shown.price, Some(Micros(10)));
    let limits: Vec<_> =
        shown.limits.iter().map(|limit| (&*limit.rule, limit.measure, limit.limit)).collect();
    assert_eq!(limits, [("q", Measure::MaxPerCall, 20), ("q", Measure::CallsPerDay, 5)]);
    for (approvals, expected) in [
        (json!([]), ApprovalShown::Never),
        (json!([{"mode": "always"}]), ApprovalShown::Always),
        (json!([{"mode": "policy"}, {"mode": "always"}]), ApprovalShown::Always),
        (json!([{"mode": "never"}, {"mode": "always"}]), ApprovalShown::Never),
        (json!([{"mode": "policy", "when": "arguments.amount > 1"}]), ApprovalShown::Sometimes),
        (
            json!([{"mode": "never", "when": "arguments.amount < 1"}, {"mode": "always"}]),
            ApprovalShown::Sometimes,
        ),
    ] {
        let standing = standing(json!({"approvals": approvals}));
        assert_eq!(standing.terms_of_use(&subject, None).approval, expected, "{approvals}");
    }
}

#[test]
fn a_waiting_call_holds_its_money_until_someone_answers() {
    let standing = standing(json!({
        "prices": [{"price": 10}],
        "quotas": [{"id": "month", "budget_per_month": 10, "calls_per_day": 2}],
        "approvals": [{"id": "four-eyes", "mode": "always", "timeout_seconds": 5}],
    }));
    let meters = Meters::default();
    let request = Request::new(Subject::tool("bank", "pay"), noon());
    let used = || -> Vec<u64> {
        meters.remaining(&standing, &request.subject, noon()).iter().map(|limit| limit.used).collect()
    };
    let Ok(Admitted::Waiting(waiting)) = admit(&standing, &meters, &request, "call") else {
        panic!("must wait")
    };
    assert_eq!((waiting.needed().timeout_seconds, *waiting.call()), (5, "call"));
    assert_eq!(used(), [10, 1]);
    assert!(admit(&standing, &meters, &request, "other").is_err(), "the money is taken");
    let refusal = waiting.refuse("nobody answered");
    assert_eq!((refusal.stage, &*refusal.rule, refusal.retryable), (Stage::Approval, "four-eyes", false));
    assert_eq!(used(), [0, 0], "a refused call leaves no trace in the counters");

    let Ok(Admitted::Waiting(waiting)) = admit(&standing, &meters, &request, "call") else {
        panic!("must wait")
    };
    let permitted = waiting.approve();
    assert_eq!(
        (*permitted.call(), permitted.terms().price(), permitted.terms().revision()),
        ("call", Micros(10), 42)
    );
    assert_eq!(permitted.into_parts().1.settle(Outcome::Succeeded), Micros(10));
    assert_eq!(used(), [10, 1]);
}

#[test]
fn denied_calls_take_nothing() {
    let quota = json!([{"calls_per_day": 5, "budget_per_month": 100, "concurrency": 5}]);
    for (rules, check) in [
        (
            json!({"quotas": quota, "prices": [{"price": 10}], "policy": {"rules": [{"effect": "deny"}]}}),
            None,
        ),
        (json!({"quotas": quota, "prices": [{"price": 10}]}), Some(&Never as &dyn ArgumentCheck)),
    ] {
        let standing = standing(rules);
        let meters = Meters::default();
        let request = Request { argument_check: check, ..Request::new(Subject::tool("bank", "pay"), noon()) };
        assert!(admit(&standing, &meters, &request, ()).is_err());
        assert!(meters.remaining(&standing, &request.subject, noon()).iter().all(|limit| limit.used == 0));
    }
}

#[test]
fn prices_come_from_the_operator_then_from_the_tool() {
    for (prices, declared, expected) in [
        (json!([]), None, 0),
        (json!([]), Some(7), 7),
        (json!([{"price": 3}]), Some(7), 3),
        (json!([{"price": 3, "tools": ["look"]}]), Some(7), 7),
        (json!([{"price": 1, "callers": ["anna"]}, {"price": 3}]), None, 1),
        (json!([{"price": 1, "callers": ["bert"]}, {"price": 3}]), None, 3),
    ] {
        let request = Request {
            declared_price: declared.map(Micros),
            ..Request::new(Subject::tool("bank", "pay"), noon())
        };
        let standing = standing(json!({"prices": prices}));
        let Ok(Admitted::Permitted(permitted)) = admit(&standing, &Meters::default(), &request, ()) else {
            panic!("{prices}")
        };
        assert_eq!(permitted.terms().price(), Micros(expected), "{prices}");
    }
}

#[test]
fn the_first_price_of_the_file_counts_however_it_is_found() {
    let mut prices = vec![json!({"price": 1, "tools": ["p*"]}), json!({"price": 3, "tools": ["pay"]})];
    // Enough rules about other things that the rules are found by the thing and not by the caller.
    prices.extend((0..20).map(|number| json!({"price": 9, "tools": [format!("other-{number}")]})));
    let shown =
        standing(json!({"prices": prices})).terms_of_use(&Subject::tool("bank", "pay"), Some(Micros(7)));
    assert_eq!(shown.price, Some(Micros(1)));
}

#[test]
fn a_request_that_narrows_its_view_does_not_see_the_rest() {
    let standing = standing(json!({}));
    let narrowing = Narrowing::new(None, Some(&["look".to_owned()]), &[]).unwrap();
    let request =
        |name| Request { narrowing: Some(&narrowing), ..Request::new(Subject::tool("bank", name), noon()) };
    assert!(admit(&standing, &Meters::default(), &request("look"), ()).is_ok());
    let denied = admit(&standing, &Meters::default(), &request("pay"), ()).unwrap_err();
    assert_eq!(denied, Denied::Unknown { rule: "request".into() });
    assert_eq!(denied.to_string(), "not found", "the rule stays with us");
    let explanation = explain(&standing, &Meters::default(), &request("pay"));
    assert_eq!(explanation.outcome, StageOutcome::Hidden);
    let json = serde_json::to_value(&explanation).unwrap();
    assert_eq!(json["stages"][0]["rule"], "request");
    let _schema = schemars::schema_for!(toolgate_governance::Explanation);
}

#[test]
fn a_replaced_policy_leaves_running_calls_their_terms() {
    let before =
        standing(json!({"prices": [{"price": 10}], "quotas": [{"id": "q", "budget_per_month": 10}]}));
    let after = standing(json!({"prices": [{"price": 1}], "quotas": [{"id": "q", "budget_per_month": 10}]}));
    let meters = Arc::new(Meters::default());
    let request = Request::new(Subject::tool("bank", "pay"), noon());
    let Ok(Admitted::Permitted(running)) = admit(&before, &meters, &request, ()) else { panic!("fits") };
    assert!(admit(&after, &meters, &request, ()).is_err(), "the old call still holds its money");
    assert_eq!(running.into_parts().1.settle(Outcome::Failed), Micros::ZERO);
    assert!(admit(&after, &meters, &request, ()).is_ok());
}
