//! What every test needs: a server under supervision and a client that calls it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::timeout;
use toolgate_client::{Call, CallError, Caller, News, Outbox, Server, ServerSpec, State, Transport, What};
use toolgate_protocol::era::Envelope;
use toolgate_protocol::{Era, Message};

/// Nothing in these tests takes this long unless it hangs.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// A server under supervision.
pub(crate) struct Rig {
    pub(crate) server: Server,
    pub(crate) news: mpsc::Receiver<News>,
}

impl Rig {
    pub(crate) fn start(spec: ServerSpec) -> Rig {
        let (sender, news) = mpsc::channel(1000);
        Rig { server: Server::start(spec, sender), news }
    }

    pub(crate) fn scripted(mode: &str) -> Rig {
        Rig::start(spec(scripted(mode)))
    }

    /// Calls a tool as the legacy client number 1.
    pub(crate) async fn tool(&self, name: &str) -> Result<Value, CallError> {
        self.call(call(name, caller(1))).await
    }

    pub(crate) async fn call(&self, call: Call) -> Result<Value, CallError> {
        self.call_with(call, &Arc::default()).await
    }

    pub(crate) async fn call_with(&self, call: Call, outbox: &Arc<Outbox>) -> Result<Value, CallError> {
        let answer = timeout(LONG, self.server.call(call, outbox)).await.expect("the call hangs")?;
        let message: Value = serde_json::from_slice(answer.message.bytes()).unwrap();
        Ok(message.get("result").or_else(|| message.get("error")).unwrap().clone())
    }

    /// The next news that `wanted` picks.
    pub(crate) async fn news<T>(&mut self, mut wanted: impl FnMut(What) -> Option<T>) -> T {
        let look = async {
            loop {
                let news = self.news.recv().await.expect("no more news");
                if let Some(found) = wanted(news.what) {
                    return found;
                }
            }
        };
        timeout(LONG, look).await.expect("such news do not come")
    }

    pub(crate) async fn until(&mut self, state: State) -> toolgate_client::Status {
        self.news(|what| match what {
            What::State(status) if status.state == state => Some(status),
            _ => None,
        })
        .await
    }
}

pub(crate) fn spec(transport: Transport) -> ServerSpec {
    ServerSpec {
        call_timeout: Duration::from_secs(20),
        connect_timeout: Duration::from_secs(20),
        max_waiting: 64,
        max_message_bytes: 200_000,
        ..ServerSpec::new("scripted", transport)
    }
}

pub(crate) fn scripted(mode: &str) -> Transport {
    command(&example("scripted_server").to_string_lossy(), &[mode])
}

pub(crate) fn command(command: &str, args: &[&str]) -> Transport {
    Transport::Stdio {
        command: command.to_owned(),
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        env: BTreeMap::new(),
        cwd: None,
    }
}

pub(crate) fn http(url: &str) -> Transport {
    Transport::Http { url: url.to_owned(), headers: BTreeMap::new() }
}

/// A program of `examples/`, which cargo builds beside the tests.
pub(crate) fn example(name: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let path = tests.parent().unwrap().parent().unwrap().join("examples").join(name);
    assert!(path.exists(), "{} is missing: run `cargo test` or `cargo build --examples`", path.display());
    path
}

pub(crate) fn caller(key: u64) -> Arc<Caller> {
    let envelope = Envelope::new(Era::Legacy, Bytes::from_static(b"{}"), None);
    Arc::new(Caller { key, envelope, log_level: None })
}

pub(crate) fn call(tool: &str, caller: Arc<Caller>) -> Call {
    let message = json!({"jsonrpc": "2.0", "id": "client's own", "method": "tools/call",
                         "params": {"name": tool, "arguments": {"a": 1}, "_meta": {"progressToken": "client's"}}});
    Call {
        message: Message::parse(Bytes::from(message.to_string())).unwrap(),
        native: None,
        line: caller.key,
        caller,
        told: None,
        in_short: None,
        parameters: Vec::new(),
        timeout: None,
    }
}

/// What a process and those it started are; empty once they are gone.
pub(crate) fn processes_with(marker: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if String::from_utf8_lossy(&line).contains(marker) {
            found.push(id);
        }
    }
    found
}

/// Waits until `check` holds.
pub(crate) async fn eventually(what: &str, check: impl Fn() -> bool) {
    let look = async {
        while !check() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(LONG, look).await.unwrap_or_else(|_| panic!("never: {what}"));
}
