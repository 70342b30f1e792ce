use std::thread;

use super::*;
use crate::rules::{Per, PriceRule, Quota, Rules, What, Who};
use crate::{Admitted, Denied, Measure, Outcome, Policy, Request, Terms, admit};

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

const NOON: &str = "2026-08-03T12:00:10Z";

fn rules(price: u64, quota: Quota) -> Rules {
    let price = PriceRule {
        id: None,
        who: Who::default(),
        what: What::default(),
        price: Micros(price),
        refund_on_failure: true,
    };
    Rules { prices: vec![price], quotas: vec![quota], ..Rules::default() }
}

fn standing(rules: &Rules, caller: &str, groups: &[&str]) -> Standing {
    let (policy, problems) = Policy::compile(rules, 1);
    assert_eq!(problems, []);
    policy.standing(caller.into(), groups.iter().map(|group| Arc::from(*group)).collect())
}

fn call(standing: &Standing, meters: &Meters, subject: Subject<'_>, now: &str) -> Result<Terms, Refusal> {
    match admit(standing, meters, &Request::new(subject, at(now)), ()) {
        Ok(Admitted::Permitted(permitted)) => Ok(permitted.into_parts().1),
        Err(Denied::Refused(refusal)) => Err(refusal),
        other => panic!("{other:?}"),
    }
}

const TOOL: Subject<'_> = Subject { kind: crate::Kind::Tool, server: "s", name: "t", exposed: "t" };

#[test]
fn each_limit_refuses_what_is_over_it_and_says_until_when() {
    let quota = |set: fn(&mut Quota)| {
        let mut quota = Quota { id: Some("q".into()), ..Quota::default() };
        set(&mut quota);
        quota
    };
    for (quota, fitting, stage, measure, limit, used, resets_at, retry_after) in [
        (
            quota(|quota| quota.budget_per_month = Some(Micros(25))),
            2,
            Stage::Budget,
            Measure::BudgetPerMonth,
            25,
            20,
            Some("2026-09-01T00:00:00Z"),
            Some(2_462_390),
        ),
        (
            quota(|quota| quota.calls_per_minute = Some(3)),
            3,
            Stage::Rate,
            Measure::CallsPerMinute,
            3,
            3,
            Some("2026-08-03T12:01:00Z"),
            Some(50),
        ),
        (
            quota(|quota| {
                quota.calls_per_day = Some(1);
                quota.time_zone = Some("Asia/Tokyo".into());
            }),
            1,
            Stage::Rate,
            Measure::CallsPerDay,
            1,
            1,
            Some("2026-08-03T15:00:00Z"),
            Some(10_790),
        ),
        (
            quota(|quota| quota.concurrency = Some(2)),
            2,
            Stage::Rate,
            Measure::Concurrency,
            2,
            2,
            None,
            Some(1),
        ),
        (
            quota(|quota| quota.max_per_call = Some(Micros(9))),
            0,
            Stage::Budget,
            Measure::MaxPerCall,
            9,
            0,
            None,
            None,
        ),
    ] {
        let standing = standing(&rules(10, quota), "anna", &[]);
        let meters = Meters::default();
        let running: Vec<Terms> =
            (0..fitting).map(|_| call(&standing, &meters, TOOL, NOON).expect("fits")).collect();
        let refusal = call(&standing, &meters, TOOL, NOON).unwrap_err();
        assert_eq!((refusal.stage, refusal.measure), (stage, Some(measure)));
        assert_eq!((refusal.limit, refusal.used), (Some(limit), Some(used)), "{measure:?}");
        assert_eq!(refusal.resets_at, resets_at.map(at), "{measure:?}");
        assert_eq!(
            (refusal.retryable, refusal.retry_after),
            (retry_after.is_some(), retry_after),
            "{measure:?}"
        );
        assert_eq!(&*refusal.rule, "q");
        drop(running);
    }
}

#[test]
fn reads_and_calls_are_counted_apart() {
    let quota = Quota { reads_per_minute: Some(1), calls_per_minute: Some(1), ..Quota::default() };
    let standing = standing(&rules(0, quota), "anna", &[]);
    let meters = Meters::default();
    let resource = Subject::resource("s", "skill://a");
    assert!(call(&standing, &meters, TOOL, NOON).is_ok());
    assert!(call(&standing, &meters, resource, NOON).is_ok());
    assert_eq!(call(&standing, &meters, TOOL, NOON).unwrap_err().measure, Some(Measure::CallsPerMinute));
    assert_eq!(call(&standing, &meters, resource, NOON).unwrap_err().measure, Some(Measure::ReadsPerMinute));
    let prompt = Subject::prompt("s", "p");
    assert_eq!(call(&standing, &meters, prompt, NOON).unwrap_err().measure, Some(Measure::ReadsPerMinute));
}

#[test]
fn the_end_of_a_call_decides_what_it_costs() {
    type End = fn(Terms) -> Micros;
    let dropped: End = |terms| {
        drop(terms);
        Micros::ZERO
    };
    for (end, charged) in [
        ((|terms: Terms| terms.settle(Outcome::Succeeded)) as End, 10),
        (|terms| terms.settle(Outcome::Failed), 0),
        (|terms| terms.settle_at(Micros(4)), 4),
        (|terms| terms.settle_at(Micros(400)), 10),
        (dropped, 0),
        (
            |terms| {
                terms.refund();
                Micros::ZERO
            },
            0,
        ),
    ] {
        let quota = Quota { budget_per_month: Some(Micros(100)), concurrency: Some(5), ..Quota::default() };
        let standing = standing(&rules(10, quota), "anna", &[]);
        let meters = Meters::default();
        let terms = call(&standing, &meters, TOOL, NOON).unwrap();
        let used = |meters: &Meters| -> Vec<u64> {
            meters.remaining(&standing, &TOOL, at(NOON)).iter().map(|limit| limit.used).collect()
        };
        assert_eq!(used(&meters), [10, 1], "while it runs");
        assert_eq!(end(terms), Micros(charged));
        assert_eq!(used(&meters), [charged, 0], "when it is over");
    }
}

#[test]
fn failures_are_charged_where_the_operator_says_so() {
    let quota = Quota { budget_per_month: Some(Micros(100)), ..Quota::default() };
    let mut rules = rules(10, quota);
    rules.prices[0].refund_on_failure = false;
    let standing = standing(&rules, "anna", &[]);
    let meters = Meters::default();
    assert_eq!(call(&standing, &meters, TOOL, NOON).unwrap().settle(Outcome::Failed), Micros(10));
}

#[test]
fn windows_end_and_calls_that_outlive_them_harm_nobody() {
    let quota = Quota {
        budget_per_month: Some(Micros(10)),
        calls_per_minute: Some(1),
        concurrency: Some(2),
        ..Quota::default()
    };
    let standing = standing(&rules(10, quota), "anna", &[]);
    let meters = Meters::default();
    let in_august = call(&standing, &meters, TOOL, "2026-08-31T23:59:50Z").unwrap();
    let in_september = call(&standing, &meters, TOOL, "2026-09-01T00:00:01Z").unwrap();
    assert_eq!(in_august.settle(Outcome::Succeeded), Micros(10));
    drop(in_september);
    let used: Vec<u64> = meters
        .remaining(&standing, &TOOL, at("2026-09-01T00:00:02Z"))
        .iter()
        .map(|limit| limit.used)
        .collect();
    assert_eq!(used, [0, 1, 0], "budget, minute, running");
}

#[test]
fn quotas_are_counted_for_those_they_name() {
    for (per, together) in [
        (Per::All, [true, true, true]),
        (Per::Caller, [true, false, false]),
        (Per::Tool, [false, true, false]),
        (Per::CallerAndTool, [false, false, false]),
        (Per::Group, [true, false, false]),
    ] {
        let quota = Quota { per, calls_per_minute: Some(1), ..Quota::default() };
        let rules = rules(0, quota);
        let meters = Meters::default();
        let anna = standing(&rules, "anna", &["red"]);
        let bert = standing(&rules, "bert", &["blue"]);
        drop(call(&anna, &meters, TOOL, NOON).unwrap());
        let other_tool = Subject::tool("s", "u");
        let refused = [
            call(&anna, &meters, other_tool, NOON).is_err(),
            call(&bert, &meters, TOOL, NOON).is_err(),
            call(&standing(&rules, "carl", &[]), &meters, Subject::tool("s", "v"), NOON).is_err(),
        ];
        assert_eq!(refused, together, "{per:?}");
        let same = standing(&rules, "anna", &["red"]);
        assert!(call(&same, &meters, TOOL, NOON).is_err(), "{per:?}");
    }
}

#[test]
fn a_call_counts_in_every_group_of_its_caller() {
    let quota = Quota {
        per: Per::Group,
        calls_per_minute: Some(1),
        who: Who { callers: vec![], groups: vec!["team-*".into()] },
        ..Quota::default()
    };
    let rules = rules(0, quota);
    let meters = Meters::default();
    let both = standing(&rules, "anna", &["team-a", "team-b", "office"]);
    drop(call(&both, &meters, TOOL, NOON).unwrap());
    assert!(call(&standing(&rules, "bert", &["team-b"]), &meters, TOOL, NOON).is_err());
    assert!(call(&standing(&rules, "carl", &["office"]), &meters, TOOL, NOON).is_ok(), "not covered");
}

#[test]
fn counters_outlive_a_change_of_the_limits() {
    let quota = |limit| Quota { budget_per_month: Some(Micros(limit)), ..Quota::default() };
    let meters = Meters::default();
    let before = standing(&rules(10, quota(10)), "anna", &[]);
    assert_eq!(call(&before, &meters, TOOL, NOON).unwrap().settle(Outcome::Succeeded), Micros(10));
    assert!(call(&before, &meters, TOOL, NOON).is_err());
    let mut changed = rules(10, quota(20));
    changed.quotas.insert(0, Quota { id: Some("new".into()), ..Quota::default() });
    let after = standing(&changed, "anna", &[]);
    assert_eq!(call(&after, &meters, TOOL, NOON).unwrap().settle(Outcome::Succeeded), Micros(10));
    assert!(call(&after, &meters, TOOL, NOON).is_err());
}

#[test]
fn counters_that_carry_nothing_make_room_and_others_do_not() {
    let quota = Quota { calls_per_minute: Some(1), ..Quota::default() };
    let rules = rules(0, quota);
    let meters = Meters::with_capacity(SHARDS);
    let callers: Vec<Standing> = (0..SHARDS * 8).map(|n| standing(&rules, &format!("c{n}"), &[])).collect();
    let refused = callers
        .iter()
        .filter_map(|caller| call(caller, &meters, TOOL, NOON).err())
        .filter(|refusal| refusal.measure.is_none() && refusal.retryable)
        .count();
    assert!(meters.len() <= SHARDS && refused >= SHARDS * 7, "{refused} refused, {} kept", meters.len());
    let next_minute = "2026-08-03T12:01:00Z";
    let welcome =
        callers.iter().rev().filter(|caller| call(caller, &meters, TOOL, next_minute).is_ok()).count();
    assert!(welcome > 0 && meters.len() <= SHARDS);
}

#[test]
fn parallel_calls_cannot_overspend_by_one_unit() {
    const THREADS: usize = 64;
    const BUDGET: u64 = 1_000;
    for per in [Per::All, Per::Caller] {
        let quota = Quota { per, budget_per_month: Some(Micros(BUDGET)), ..Quota::default() };
        // A second quota over the same calls, so that several counters are moved at once.
        let mut rules = rules(1, quota);
        rules.quotas.push(Quota {
            id: Some("rate".into()),
            per: Per::Tool,
            calls_per_day: Some(1 << 40),
            ..Quota::default()
        });
        let standing = standing(&rules, "anna", &[]);
        let meters = Meters::default();
        let spent: u64 = thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS)
                .map(|_| {
                    scope.spawn(|| {
                        let mut spent = 0;
                        for _ in 0..100 {
                            match call(&standing, &meters, TOOL, NOON) {
                                Ok(terms) => spent += terms.settle(Outcome::Succeeded).0,
                                Err(refusal) => {
                                    assert_eq!(refusal.resets_at, Some(at("2026-09-01T00:00:00Z")))
                                }
                            }
                        }
                        spent
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(spent, BUDGET, "{per:?}");
    }
}
