//! What comes from a child's pipes.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use toolgate_client::{Call, CallError, Event, Outbox, Reply, ServerSpec, What};
use toolgate_protocol::{Era, Message};

use crate::rig::{LONG, Rig, call, caller, command, eventually, processes_with, scripted, spec};

#[tokio::test]
async fn a_request_is_answered_under_an_id_of_ours() {
    let rig = Rig::scripted("legacy");
    let echoed = rig.tool("echo").await.unwrap();
    assert_eq!(echoed["arguments"], json!({"a": 1}));
    assert!(echoed["_meta"]["progressToken"].is_u64(), "the token is the connection's: {echoed}");
}

#[tokio::test]
async fn a_call_is_sent_in_short_where_its_arguments_say_all_and_the_server_reads_that() {
    let mark = Some("m");
    for (mode, mark, in_short) in
        [("short", mark, true), ("short", None, false), ("modern", mark, false), ("legacy", mark, false)]
    {
        let rig = Rig::scripted(mode);
        let call = Call { in_short: mark.map(Into::into), ..call("echo", caller(1)) };
        let outcome = rig.server.call(call, &Arc::default()).await.unwrap();
        let message: Value = serde_json::from_slice(outcome.message.bytes()).unwrap();
        let expected = if in_short { json!([message["id"], "echo", {"a": 1}, "m"]) } else { Value::Null };
        assert_eq!(message["result"]["in short"], expected, "{mode}: {message}");
        assert_eq!(message["result"]["name"].is_string(), !in_short, "{mode}: {message}");
        // Who is told nothing of the era answers as in the legacy one.
        assert_eq!(outcome.era == Era::Legacy, in_short || mode == "legacy", "{mode}");
    }
}

/// Plays a scene on a thread of its own: one that blocks its thread cannot fail by its own clock.
fn on_one_thread(scene: impl Future<Output = ()> + Send + 'static) {
    let (finished, outcome) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(scene);
        finished.send(()).unwrap();
    });
    outcome.recv_timeout(LONG).expect("the scene failed, or its thread is blocked");
}

fn long_call(bytes: usize) -> Call {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                         "params": {"name": "echo", "arguments": {"text": "x".repeat(bytes)}}});
    Call {
        message: Message::parse(Bytes::from(message.to_string())).unwrap(),
        native: None,
        caller: caller(1),
        line: 0,
        told: None,
        in_short: None,
        parameters: Vec::new(),
        timeout: None,
    }
}

#[test]
fn long_messages_both_ways_at_once_do_not_wait_for_each_other() {
    on_one_thread(async {
        let rig = Rig::start(ServerSpec { max_message_bytes: 4 << 20, ..spec(scripted("legacy")) });
        // More than it takes for the reading to be done where the calls are.
        for _ in 0..20 {
            assert_eq!(rig.tool("echo").await.unwrap()["name"], "echo");
        }
        let (one, other) = tokio::join!(rig.call(long_call(1 << 20)), rig.call(long_call(1 << 20)));
        for echoed in [one, other] {
            assert_eq!(echoed.unwrap()["arguments"]["text"].as_str().map(str::len), Some(1 << 20));
        }
    });
}

#[test]
fn a_child_that_stops_reading_holds_up_its_own_calls_only() {
    on_one_thread(async {
        let stopped = Rig::scripted("legacy");
        let other = Rig::scripted("legacy");
        assert_eq!(other.tool("echo").await.unwrap()["name"], "echo");
        let mut stuck = call("stuck", caller(1));
        stuck.timeout = Some(Duration::from_millis(20));
        assert!(matches!(stopped.call(stuck).await, Err(CallError::Timeout { .. })));
        let mut unread = long_call(1 << 20);
        unread.timeout = Some(Duration::from_millis(200));
        let (unread, answered) = tokio::join!(stopped.call(unread), other.tool("echo"));
        assert!(matches!(unread, Err(CallError::Timeout { .. })), "{unread:?}");
        assert_eq!(answered.unwrap()["name"], "echo");
    });
}

#[tokio::test]
async fn bad_output_disturbs_nothing() {
    let rig = Rig::scripted("legacy");
    for tool in ["garbage", "split", "unknown ids", "stderr flood", "log flood"] {
        let answer = rig.tool(tool).await.unwrap_or_else(|error| panic!("{tool}: {error}"));
        assert_eq!(answer, json!({"content": []}), "{tool}");
        assert_eq!(rig.tool("echo").await.unwrap()["name"], "echo", "after {tool}");
    }
}

#[tokio::test]
async fn the_first_of_two_answers_counts() {
    let rig = Rig::scripted("legacy");
    assert_eq!(rig.tool("twice").await.unwrap(), json!({"which": 1}));
    assert_eq!(rig.tool("echo").await.unwrap()["name"], "echo");
}

#[tokio::test]
async fn a_line_that_is_too_long_fails_its_call_only() {
    let rig = Rig::scripted("legacy");
    let error = rig.tool("huge").await.unwrap_err();
    assert!(matches!(&error, CallError::Unusable { cause, .. } if cause.contains("longer")), "{error}");
    assert_eq!(rig.tool("echo").await.unwrap()["name"], "echo");
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_cancelled() {
    let rig = Rig::scripted("legacy");
    let mut slow = call("silent", caller(1));
    slow.timeout = Some(Duration::from_millis(50));
    let error = rig.call(slow).await.unwrap_err();
    assert!(matches!(error, CallError::Timeout { .. }), "{error}");
    let seen = rig.tool("seen").await.unwrap();
    assert_eq!(cancellations(&seen), 1, "{seen}");
}

#[tokio::test]
async fn a_caller_that_leaves_cancels_its_call() {
    let rig = Rig::scripted("legacy");
    rig.tool("echo").await.unwrap();
    let outbox = Arc::new(Outbox::default());
    let leaving = rig.server.call(call("silent", caller(1)), &outbox);
    assert!(tokio::time::timeout(Duration::from_millis(50), leaving).await.is_err());
    assert_eq!(cancellations(&rig.tool("seen").await.unwrap()), 1);
    // What was answered or never sent is not cancelled.
    assert_eq!(cancellations(&rig.tool("seen").await.unwrap()), 1);
}

#[tokio::test]
async fn progress_and_logs_come_in_order_before_the_answer() {
    let rig = Rig::scripted("legacy");
    let outbox = Arc::new(Outbox::default());
    rig.call_with(call("progress", caller(1)), &outbox).await.unwrap();
    let mut steps = Vec::new();
    while let Some(event) = outbox.take() {
        match event {
            Event::Progress(params) => {
                steps.push(serde_json::from_slice::<Value>(&params).unwrap()["progress"].to_string());
            }
            Event::Log(params) => {
                steps.push(serde_json::from_slice::<Value>(&params).unwrap()["data"].to_string());
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(steps, ["1", "2", "3", "\"nearly done\""]);
}

#[tokio::test]
async fn a_question_reaches_the_only_client_and_its_answer_returns() {
    let rig = Rig::scripted("legacy");
    let outbox = Arc::new(Outbox::default());
    let asked = rig.call_with(call("ask", caller(1)), &outbox);
    let answer = async {
        let Event::Ask(question) = outbox.next().await else { panic!("no question") };
        assert_eq!(question.method.name(), "elicitation/create");
        assert!(String::from_utf8_lossy(&question.params).contains("really?"));
        question.answer.send(Reply::Result(br#"{"action":"accept"}"#.as_slice().into())).unwrap();
    };
    let (answered, ()) = tokio::join!(asked, answer);
    assert_eq!(answered.unwrap(), json!({"answered": {"action": "accept"}}));
}

#[tokio::test]
async fn a_question_is_refused_where_it_cannot_be_known_whom_to_ask() {
    let rig = Rig::scripted("legacy");
    rig.tool("echo").await.unwrap();
    let other = Arc::new(Outbox::default());
    let mut waiting = Box::pin(rig.server.call(call("silent", caller(2)), &other));
    let asked = rig.tool("ask");
    let answered = tokio::select! {
        biased;
        _ = &mut waiting => unreachable!("it is never answered"),
        answered = asked => answered.unwrap(),
    };
    assert_eq!(answered["answered"]["code"], -32603);
    assert!(answered["answered"]["message"].as_str().unwrap().contains("isolation: client"), "{answered}");
}

#[tokio::test]
async fn a_question_dropped_by_the_client_is_answered_with_an_error() {
    let rig = Rig::scripted("legacy");
    let outbox = Arc::new(Outbox::default());
    let (answered, ()) = tokio::join!(rig.call_with(call("ask", caller(1)), &outbox), async {
        drop(outbox.next().await);
    });
    assert_eq!(answered.unwrap()["answered"]["code"], -32603);
}

#[tokio::test]
async fn a_question_taken_back_needs_no_answer() {
    let rig = Rig::scripted("legacy");
    let outbox = Arc::new(Outbox::default());
    rig.call_with(call("take back", caller(1)), &outbox).await.unwrap();
    let Some(Event::Ask(mut question)) = outbox.take() else { panic!("no question") };
    question.answer.closed().await;
    let seen = rig.tool("seen").await.unwrap();
    assert_eq!(seen["seen"].as_array().unwrap().len(), 1, "only that we are initialized: {seen}");
}

#[tokio::test]
async fn a_ping_is_answered_by_us() {
    let rig = Rig::scripted("legacy");
    assert_eq!(rig.tool("ping").await.unwrap(), json!({"answered": {}}));
}

#[tokio::test]
async fn a_changed_list_is_news() {
    let mut rig = Rig::scripted("legacy");
    rig.tool("changed").await.unwrap();
    rig.news(|what| matches!(what, What::ToolsChanged).then_some(())).await;
}

#[tokio::test]
async fn a_child_sees_only_harmless_variables_and_its_own() {
    let mut transport = scripted("legacy");
    if let toolgate_client::Transport::Stdio { env, .. } = &mut transport {
        env.insert("MY_SECRET".to_owned(), "1".to_owned());
    }
    let rig = Rig::start(spec(transport));
    let names = rig.tool("environment").await.unwrap()["names"].as_array().unwrap().clone();
    assert!(names.contains(&json!("MY_SECRET")) && names.contains(&json!("PATH")), "{names:?}");
    let harmless = |name: &str| {
        let known =
            ["MY_SECRET", "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TMPDIR"];
        let more = ["TZ", "PWD", "TEMP", "TMP", "SYSTEMROOT"];
        known.contains(&name) || more.contains(&name) || name.starts_with("LC_") || name.starts_with("XDG_")
    };
    assert!(names.iter().all(|name| harmless(name.as_str().unwrap())), "{names:?}");
}

#[tokio::test]
async fn many_calls_at_once_get_each_its_own_answer() {
    let rig = Rig::scripted("legacy");
    let calls = (0..200_u64).map(|number| {
        let mut call = call("echo", caller(number));
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                             "params": {"name": "echo", "arguments": {"number": number}}});
        call.message = Message::parse(message.to_string().into()).unwrap();
        let rig = &rig;
        async move {
            // More than may wait at once: the rest is refused, and none gets the answer of another.
            match rig.call(call).await {
                Ok(answer) => assert_eq!(answer["arguments"]["number"], number),
                Err(error) => assert!(matches!(error, CallError::Busy { .. }), "{error}"),
            }
        }
    });
    futures_util::future::join_all(calls).await;
}

#[tokio::test]
async fn a_command_that_does_not_exist_is_told() {
    let mut rig = Rig::start(spec(command("/nowhere/at/all", &[])));
    let status = rig.until(toolgate_client::State::Down).await;
    assert!(status.cause.unwrap().contains("/nowhere/at/all"));
    assert!(status.retry_after.is_some());
    eventually("no process", || processes_with("/nowhere/at/all").is_empty()).await;
}

fn cancellations(seen: &Value) -> usize {
    let seen = seen["seen"].as_array().unwrap();
    seen.iter().filter(|message| message["method"] == "notifications/cancelled").count()
}
