//! Handlers whose files change while clients work.

use std::{fs, thread};

use harness::processes::children;
use harness::{Client, Era, eventually};
use serde_json::json;

use super::{Over, Workshop, health};

/// How many clients call all the time, and how many versions there are.
const CLIENTS: usize = 4;
const VERSIONS: usize = 8;

fn tools(version: usize) -> String {
    format!(
        "import time\n\
         from toolgate import handler\n\n\
         @handler\n\
         def version() -> int:\n    \
             \"\"\"Tell the version.\"\"\"\n    \
             time.sleep(0.005)\n    \
             return {version}\n\n\
         @handler\n\
         def only_in_{version}() -> None:\n    \
             \"\"\"Show that the list is new, too.\"\"\"\n"
    )
}

fn version(client: &Client) -> usize {
    client.call("w__version", &json!({})).text().parse().unwrap()
}

fn is_listed(client: &Client, tool: &str) -> bool {
    let listed = client.request("tools/list", &json!({}));
    listed.result()["tools"].as_array().unwrap().iter().any(|listed| listed["name"] == tool)
}

#[test]
fn new_files_take_over_without_losing_a_call() {
    let workshop = Workshop::with(&tools(0));
    let gateway = workshop.open("processes: 2");
    let clients: Vec<_> = (0..CLIENTS).map(|number| Client::new(&gateway, Era::BOTH[number % 2])).collect();
    let over = Over::default();
    let calls: usize = thread::scope(|scope| {
        let over = &over;
        let _over = over.at_the_end();
        let work = |client: &Client| {
            let (mut calls, mut newest) = (0, 0);
            while !over.is_now() {
                let answered = version(client);
                assert!(answered >= newest, "version {answered} answered after {newest}");
                newest = answered;
                calls += 1;
            }
            calls
        };
        let working: Vec<_> = clients.iter().map(|client| scope.spawn(move || work(client))).collect();
        let looking = Client::modern(&gateway);
        for number in 1..=VERSIONS {
            workshop.write(&tools(number));
            eventually("the new version answers", || (version(&looking) == number).then_some(()));
            let tool = format!("w__only_in_{number}");
            eventually("the new list is there", || is_listed(&looking, &tool).then_some(()));
        }
        over.now();
        working.into_iter().map(|client| client.join().unwrap()).sum()
    });
    assert!(calls > 100, "only {calls} calls under {VERSIONS} changes");
}

#[test]
fn what_cannot_be_imported_changes_nothing_and_says_why() {
    let workshop = Workshop::with(&tools(1));
    let gateway = workshop.open("");
    let client = Client::modern(&gateway);
    assert_eq!(version(&client), 1);
    workshop.write("def broken(:\n");
    let cause = eventually("the reason is told", || {
        let health = health(&gateway);
        (health["state"] == "degraded").then(|| health["cause"].as_str().unwrap().to_owned())
    });
    assert!(cause.contains("those before stay in use") && cause.contains("tools.py"), "{cause}");
    gateway.log().until("tools.py");
    assert_eq!(version(&client), 1);
    assert!(is_listed(&client, "w__only_in_1"));
    workshop.write(&tools(2));
    eventually("what was put right answers", || (version(&client) == 2).then_some(()));
    eventually("all is well", || (health(&gateway)["state"] == "ready").then_some(()));
}

/// Handlers of which one asks before it tells the version.
fn asking(version: usize) -> String {
    let asks = format!(
        r#"
import asyncio
import pathlib
from pydantic import BaseModel
from toolgate import Context

class Sure(BaseModel):
    sure: bool

@handler
async def asked(ctx: Context, after: str | None = None) -> str:
    """Ask, as soon as a file is there if one is named, then tell who asked."""
    if after:
        pathlib.Path(after + ".begun").touch()
        while not pathlib.Path(after).exists():
            await asyncio.sleep(0.01)
    first = await ctx.elicit("sure?", Sure)
    second = await ctx.elicit("really?", Sure)
    return f"{version}: {{first.action}}, {{second.action}}"
"#
    );
    tools(version) + &asks
}

#[test]
fn who_has_asked_hears_the_answer_however_often_files_change_meanwhile() {
    for (era, record) in
        [(Era::Modern, "processes: 2"), (Era::Modern, ""), (Era::Legacy, "processes: 2"), (Era::Legacy, "")]
    {
        let workshop = Workshop::with(&asking(0));
        let gateway = workshop.open(record);
        let client = Client::able(&gateway, era, json!({"elicitation": {}}));
        let looking = Client::modern(&gateway);
        assert_eq!(version(&looking), 0);
        let workers = || children(gateway.id()).len();
        let usual = workers();
        let mut versions = 1..;
        let answered = client.call_answering("w__asked", &json!({}), |_, _| {
            for number in versions.by_ref().take(2) {
                workshop.write(&asking(number));
                eventually("the new version answers", || (version(&looking) == number).then_some(()));
            }
            json!({"action": "accept", "content": {"sure": true}})
        });
        assert_eq!(answered.text(), "0: accept, accept", "{era:?} {record}");
        assert_eq!(version(&looking), 4);
        eventually("those who asked are gone", || (workers() == usual).then_some(()));
    }
}

#[test]
fn a_call_under_way_may_still_ask_after_the_files_have_changed() {
    for era in Era::BOTH {
        let workshop = Workshop::with(&asking(0));
        let gateway = workshop.open("");
        let client = Client::able(&gateway, era, json!({"elicitation": {}}));
        let looking = Client::modern(&gateway);
        assert_eq!(version(&looking), 0);
        let arguments = json!({"after": workshop.path("asks")});
        thread::scope(|scope| {
            let answering = scope.spawn(|| {
                client.call_answering("w__asked", &arguments, |_, _| {
                    // Whoever has asked is left alone by now, so this is heard only if it is waited for.
                    assert_eq!(version(&looking), 1);
                    json!({"action": "accept", "content": {"sure": true}})
                })
            });
            eventually("it is under way", || workshop.path("asks.begun").exists().then_some(()));
            workshop.write(&asking(1));
            eventually("the new version answers", || (version(&looking) == 1).then_some(()));
            fs::write(workshop.path("asks"), "").unwrap();
            assert_eq!(answering.join().unwrap().text(), "0: accept, accept");
        });
    }
}

#[test]
fn a_question_that_nobody_answers_keeps_nobody_from_leaving() {
    let workshop = Workshop::with(&asking(0));
    let mut gateway = workshop.open("");
    let client = Client::able(&gateway, Era::Modern, json!({"elicitation": {}}));
    assert_eq!(client.call("w__asked", &json!({})).result()["resultType"], "input_required");
    workshop.write(&asking(1));
    eventually("the new version answers", || (version(&client) == 1).then_some(()));
    assert!(gateway.stop().success());
    assert!(!gateway.log().text().contains("did not end in time"), "{}", gateway.log().text());
}

#[test]
fn who_waits_for_an_answer_is_not_idle() {
    let workshop = Workshop::with(&asking(0));
    let (file, python) = (workshop.path("tools.py"), super::python());
    let beside = format!(
        "servers:\n  beside: {{command: \"{}\", args: [-m, toolgate.worker, \"{}\"], idle_stop: 200ms}}\n",
        python.display(),
        file.display()
    );
    let gateway = workshop.open_with("idle_stop: 200ms", &beside);
    let client = Client::able(&gateway, Era::Modern, json!({"elicitation": {}}));
    let answered = client.call_answering("w__asked", &json!({}), |_, _| {
        // It was called later, so by the time that it is stopped the one that asked would be, too.
        client.call("beside__version", &json!({}));
        gateway.log().until("asleep");
        json!({"action": "accept", "content": {"sure": true}})
    });
    assert_eq!(answered.text(), "0: accept, accept");
}
