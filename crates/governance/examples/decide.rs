//! Prints what one decision costs as rules and callers grow: `cargo run --release --example decide -p toolgate-governance`.
//!
//! Times are those that the thread was on a processor, the best of several rounds, so that a busy machine matters little.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use toolgate_governance::rules::{Effect, Quota, Rule, Rules, What, Who};
use toolgate_governance::{Admitted, Meters, Micros, Outcome, Policy, Request, Standing, Subject, admit};

/// How many decisions a round has: each of ten thousand callers asks ten times.
const DECISIONS: usize = 100_000;
const ROUNDS: usize = 9;

fn main() {
    println!(
        "{:>7} {:>8} {:>12} {:>14} {:>12} {:>12}",
        "rules", "callers", "compile ms", "standing ns", "list ns", "call ns"
    );
    for rule_count in [1, 100, 10_000] {
        for caller_count in [1, 10_000] {
            measure(rule_count, caller_count);
        }
    }
}

fn measure(rule_count: usize, caller_count: usize) {
    let rules = rules(rule_count);
    let (compile_ms, (policy, problems)) = timed(|| Policy::compile(&rules, 1));
    assert!(problems.is_empty(), "{problems:?}");
    let (standing_ns, standings) = timed(|| -> Vec<Standing> {
        (0..caller_count).map(|number| policy.standing(caller(number), Arc::default())).collect()
    });
    let tools: Vec<String> = (0..100).map(|number| format!("tool-{number}")).collect();
    let meters = Meters::default();
    let now: Timestamp = "2026-08-03T12:00:00Z".parse().unwrap_or(Timestamp::UNIX_EPOCH);
    let pick = |turn: usize| {
        (&standings[turn % standings.len()], Subject::tool("server", &tools[turn / 7 % tools.len()]))
    };
    // Once through without the clock, as a gateway that has been up for a second.
    for turn in 0..DECISIONS {
        let (standing, subject) = pick(turn);
        black_box(standing.is_visible(&subject, None));
    }
    let list_ns = best(|| {
        for turn in 0..DECISIONS {
            let (standing, subject) = pick(turn);
            black_box(standing.is_visible(&subject, None));
        }
    });
    let call_ns = best(|| {
        for turn in 0..DECISIONS {
            let (standing, subject) = pick(turn);
            if let Ok(Admitted::Permitted(permitted)) =
                admit(standing, &meters, &Request::new(subject, now), ())
            {
                black_box(permitted.into_parts().1.settle(Outcome::Succeeded));
            }
        }
    });
    println!(
        "{rule_count:>7} {caller_count:>8} {:>12.1} {:>14.0} {:>12.0} {:>12.0}",
        compile_ms / 1e6,
        standing_ns / caller_count as f64,
        list_ns / DECISIONS as f64,
        call_ns / DECISIONS as f64,
    );
}

/// Half of the rules are about named callers, half about named tools; one quota counts every call for its caller.
fn rules(count: usize) -> Rules {
    let mut rules = Rules::default();
    let quota =
        Quota { budget_per_month: Some(Micros(u64::MAX)), calls_per_day: Some(u64::MAX), ..Quota::default() };
    rules.quotas.push(quota);
    rules.policy.rules = (0..count)
        .map(|number| {
            let (who, what) = if number % 2 == 0 {
                let who = Who { callers: vec![caller(number).to_string()], groups: vec![] };
                (who, What { tools: vec!["forbidden-*".to_owned()], ..What::default() })
            } else {
                (Who::default(), What { tools: vec![format!("forbidden-{number}")], ..What::default() })
            };
            Rule { id: None, effect: Effect::Deny, who, what, actions: vec![], when: None }
        })
        .collect();
    rules
}

fn caller(number: usize) -> Arc<str> {
    format!("caller-{number}").into()
}

/// What a round of the work takes at best.
fn best(mut round: impl FnMut()) -> f64 {
    (0..ROUNDS).map(|_| timed(&mut round).0).fold(f64::INFINITY, f64::min)
}

fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let (start, on_processor) = (Instant::now(), processor_ns());
    let result = work();
    let wall = start.elapsed().as_nanos() as f64;
    match (on_processor, processor_ns()) {
        (Some(before), Some(after)) => (after - before, result),
        _ => (wall, result),
    }
}

/// How long this thread has been on a processor, where the system tells.
fn processor_ns() -> Option<f64> {
    std::fs::read_to_string("/proc/thread-self/schedstat").ok()?.split(' ').next()?.parse().ok()
}
