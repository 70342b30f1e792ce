//! Whatever calls cost, however they end and however many run at once: no quota gives more than it has.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use jiff::Timestamp;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};
use toolgate_governance::rules::Rules;
use toolgate_governance::{Admitted, Measure, Meters, Outcome, Policy, Request, Subject, admit};

const TOOLS: [&str; 4] = ["t0", "t1", "t2", "t3"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn parallel_calls_cannot_overspend(
        prices in vec((0..50_u64, any::<bool>()), TOOLS.len()),
        budget in 0..600_u64,
        concurrency in 1..5_u64,
        per_day in 0..60_u64,
        threads in vec(vec((0..TOOLS.len(), any::<bool>()), 1..20), 2..6),
    ) {
        let prices: Vec<Value> = TOOLS
            .iter()
            .zip(&prices)
            .map(|(tool, (price, refund))| json!({"tools": [tool], "price": price, "refund_on_failure": refund}))
            .collect();
        let quota = json!({"id": "q", "per": "all", "budget_per_month": budget, "concurrency": concurrency,
                           "calls_per_day": per_day});
        let rules: Rules = serde_json::from_value(json!({"prices": prices, "quotas": [quota]})).unwrap();
        let (policy, problems) = Policy::compile(&rules, 1);
        prop_assert_eq!(problems, []);
        let now: Timestamp = "2026-08-03T12:00:10Z".parse().unwrap();
        let standing = policy.standing("anna".into(), std::sync::Arc::default());
        let meters = Meters::default();
        let (charged, ran, running, most) =
            (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        thread::scope(|scope| {
            let (standing, meters) = (&standing, &meters);
            let (charged, ran, running, most) = (&charged, &ran, &running, &most);
            for calls in &threads {
                scope.spawn(move || {
                    for (tool, fails) in calls {
                        let request = Request::new(Subject::tool("s", TOOLS[*tool]), now);
                        let Ok(Admitted::Permitted(permitted)) = admit(standing, meters, &request, ()) else {
                            continue;
                        };
                        most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        ran.fetch_add(1, Ordering::SeqCst);
                        thread::yield_now();
                        running.fetch_sub(1, Ordering::SeqCst);
                        let outcome = if *fails { Outcome::Failed } else { Outcome::Succeeded };
                        charged.fetch_add(permitted.into_parts().1.settle(outcome).0, Ordering::SeqCst);
                    }
                });
            }
        });
        let (charged, ran) = (charged.into_inner(), ran.into_inner());
        prop_assert!(charged <= budget && ran <= per_day && most.into_inner() <= concurrency);
        let left = meters.remaining(&standing, &Subject::tool("s", TOOLS[0]), now);
        let used = |measure| left.iter().find(|one| one.measure == measure).unwrap().used;
        prop_assert_eq!(used(Measure::BudgetPerMonth), charged);
        prop_assert_eq!(used(Measure::CallsPerDay), ran);
        prop_assert_eq!(used(Measure::Concurrency), 0);
    }
}
