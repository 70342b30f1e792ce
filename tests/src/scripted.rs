//! An MCP server that does what its script says, in either era and over any transport.
//!
//! Words given at the start say what the server is: `tools=250`, `resources=120`, `bad-tool`, `mute`, `name=x`,
//! `instructions=x`, `skill=uri`. With `claims=uri` it lists files of that folder as its own; with `late=200` it greets
//! after so many milliseconds; with `failing=prompts/list` it answers that with an error until it is released, with
//! `without=prompts/list` always as if there were no such method; with `tasks` it makes a task of a call that wants one;
//! with `tally=file` it writes there what it was told to echo; with
//! `token=x` it answers over HTTP only those who show that token. The name of a called tool says what it does then:
//! answer, ask, report, wait, or one of the things that no server should do.

mod calls;
mod lists;

pub use calls::VERBATIM;

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Era, LEGACY, MODERN};
use crate::waiting::LONG;

/// Where a server says what belongs to one request.
pub trait Out {
    /// Says a message, or something that should be one.
    fn say(&self, message: &str);

    /// Ends without an answer, as a server does that crashes.
    fn vanish(&self);

    /// Whether anybody still waits for the answer.
    fn is_awaited(&self) -> bool {
        true
    }
}

/// Who hears what is said outside of requests; false once nobody does.
pub type Listener = Box<dyn Fn(&str) -> bool + Send>;

/// The server.
pub struct Scripted {
    era: Era,
    words: Vec<String>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// All messages that came, in order, and what became of calls that waited.
    seen: Vec<Value>,
    added_tools: Vec<String>,
    /// Calls that wait go on.
    released: bool,
    questions: HashMap<String, Sender<Value>>,
    asked: u64,
    listeners: Vec<(Option<Value>, Listener)>,
}

impl std::fmt::Debug for Scripted {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Scripted").field("era", &self.era).field("words", &self.words).finish()
    }
}

impl Scripted {
    /// A server of this era with these words.
    pub fn new(era: Era, words: &[&str]) -> Arc<Scripted> {
        Arc::new(Scripted {
            era,
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// Whether it has this word.
    pub fn is(&self, word: &str) -> bool {
        self.words.iter().any(|known| known == word)
    }

    /// The value of a word such as `tools=3`.
    pub fn value(&self, word: &str) -> Option<&str> {
        self.words.iter().find_map(|known| known.strip_prefix(word)?.strip_prefix('='))
    }

    /// Handles a message, however long that takes.
    pub fn hear(&self, message: &Value, out: &dyn Out) {
        self.note(message.clone());
        if self.is("mute") {
            return;
        }
        match (message.get("method").and_then(Value::as_str), message.get("id")) {
            (Some(method), Some(id)) => self.request(method, id, message, out),
            (Some(_), None) => {}
            (None, _) => {
                let id = message["id"].as_str().unwrap_or_default();
                if let Some(waiting) = self.state.lock().unwrap().questions.remove(id) {
                    // The call may have ended meanwhile.
                    let _ = waiting.send(message.clone());
                }
            }
        }
    }

    /// Everything that came so far.
    pub fn seen(&self) -> Vec<Value> {
        self.state.lock().unwrap().seen.clone()
    }

    /// How many messages came with this method.
    pub fn count(&self, method: &str) -> usize {
        self.seen().iter().filter(|message| message["method"] == method).count()
    }

    /// Lets calls that wait go on.
    pub fn release(&self) {
        self.state.lock().unwrap().released = true;
        self.changed.notify_all();
    }

    /// Says something to everybody who listens.
    pub fn announce(&self, method: &str, params: &Value) {
        let mut state = self.state.lock().unwrap();
        state.listeners.retain(|(subscription, listener)| {
            let mut params = params.clone();
            if let Some(subscription) = subscription {
                params["_meta"] = json!({"io.modelcontextprotocol/subscriptionId": subscription});
            }
            listener(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string())
        });
    }

    /// Whether somebody listens to what it announces.
    pub fn is_heard(&self) -> bool {
        !self.state.lock().unwrap().listeners.is_empty()
    }

    /// Adds somebody who listens, under the id of its subscription where it has one.
    pub fn listen(&self, subscription: Option<Value>, listener: Listener) {
        self.state.lock().unwrap().listeners.push((subscription, listener));
    }

    /// Takes a subscription of the modern era and acknowledges it.
    pub fn subscribe(&self, message: &Value, listener: Listener) {
        self.note(message.clone());
        let id = &message["id"];
        let params = json!({"notifications": message["params"]["notifications"],
                            "_meta": {"io.modelcontextprotocol/subscriptionId": id}});
        let method = "notifications/subscriptions/acknowledged";
        listener(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string());
        self.listen(Some(id.clone()), listener);
    }

    fn request(&self, method: &str, id: &Value, message: &Value, out: &dyn Out) {
        let params = &message["params"];
        let mut capabilities = json!({
            "tools": {"listChanged": true}, "resources": {"subscribe": true, "listChanged": true},
            "prompts": {"listChanged": true}, "logging": {}, "completions": {},
        });
        if self.is("tasks") {
            capabilities["tasks"] = json!({"requests": {"tools": {"call": {}}}});
        }
        if let ("server/discover" | "initialize", Some(late)) = (method, self.value("late")) {
            std::thread::sleep(Duration::from_millis(late.parse().unwrap()));
        }
        if self.value("without") == Some(method) {
            return out.say(&refusal(id, -32601, "no such method"));
        }
        if self.value("failing") == Some(method) && !self.state.lock().unwrap().released {
            return out.say(&refusal(id, -32603, "not now"));
        }
        let info = json!({"name": self.value("name").unwrap_or("scripted"), "version": "1"});
        let result = match (method, self.era) {
            ("server/discover", Era::Modern) => json!({
                "supportedVersions": [MODERN], "capabilities": capabilities,
                "_meta": {"io.modelcontextprotocol/serverInfo": info},
            }),
            ("initialize", Era::Legacy) => {
                let mut result =
                    json!({"protocolVersion": LEGACY, "capabilities": capabilities, "serverInfo": info});
                if let Some(instructions) = self.value("instructions") {
                    result["instructions"] = json!(instructions);
                }
                result
            }
            ("ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe", Era::Legacy) => {
                json!({})
            }
            ("tools/list", _) => self.tools(params),
            ("resources/list", _) => self.resources(params),
            ("resources/templates/list", _) => self.templates(),
            ("prompts/list", _) => self.prompts(),
            ("resources/read", _) => self.read(params),
            ("prompts/get", _) => self.prompt(params),
            ("completion/complete", _) => json!({"completion": {"values": [params["argument"]["value"]]}}),
            ("tools/call", Era::Legacy) if self.is("tasks") && params.get("task").is_some() => {
                json!({"task": self.task("working")})
            }
            ("tasks/get", Era::Legacy) if self.is("tasks") => self.task("completed"),
            ("tasks/result", Era::Legacy) if self.is("tasks") => {
                json!({"content": [{"type": "text", "text": format!("done by {}", info["name"])}]})
            }
            ("tools/call", _) => return self.call(id, params, out),
            _ => return out.say(&refusal(id, -32601, "no such method")),
        };
        self.answer(id, result, out);
    }

    /// The one task that it ever has.
    fn task(&self, status: &str) -> Value {
        let id = format!("task of {}", self.value("name").unwrap_or("scripted"));
        json!({"taskId": id, "status": status, "ttl": 60000, "createdAt": "2025-11-25T10:00:00Z",
               "lastUpdatedAt": "2025-11-25T10:00:00Z"})
    }

    /// Answers in the way of the era.
    fn answer(&self, id: &Value, mut result: Value, out: &dyn Out) {
        if self.era == Era::Modern && result.get("resultType").is_none() {
            result["resultType"] = json!("complete");
        }
        out.say(&json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string());
    }

    fn note(&self, message: Value) {
        self.state.lock().unwrap().seen.push(message);
        self.changed.notify_all();
    }

    /// Waits until calls are released or this one is no longer wanted; whether it still is.
    fn wait(&self, id: &Value, out: &dyn Out) -> bool {
        let deadline = Instant::now() + LONG;
        let mut state = self.state.lock().unwrap();
        loop {
            let cancelled = state.seen.iter().any(|message| {
                message["method"] == "notifications/cancelled" && message["params"]["requestId"] == *id
            });
            if cancelled || !out.is_awaited() || Instant::now() > deadline {
                return false;
            }
            if state.released {
                return true;
            }
            state = self.changed.wait_timeout(state, Duration::from_millis(10)).unwrap().0;
        }
    }

    /// Asks the client several things at once and waits for all replies; once the first one has come, it asks `then`.
    fn ask(&self, questions: &[Value], then: Option<&Value>, out: &dyn Out) -> Vec<Value> {
        let mut waiting: Vec<_> = questions.iter().map(|question| self.put(question, out).1).collect();
        let mut replies = Vec::new();
        while replies.len() < waiting.len() {
            replies.push(reply(&waiting[replies.len()]));
            if let (1, Some(then)) = (replies.len(), then) {
                waiting.push(self.put(then, out).1);
            }
        }
        replies
    }

    /// Puts a question to the client: its id, and where the reply comes.
    fn put(&self, question: &Value, out: &dyn Out) -> (String, Receiver<Value>) {
        let (sender, receiver) = channel();
        let mut state = self.state.lock().unwrap();
        state.asked += 1;
        let id = format!("question {}", state.asked);
        state.questions.insert(id.clone(), sender);
        drop(state);
        let (method, params) = (&question["method"], &question["params"]);
        out.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
        (id, receiver)
    }
}

fn reply(receiver: &Receiver<Value>) -> Value {
    let reply = |message: Value| message.get("result").or(message.get("error")).cloned().unwrap_or_default();
    receiver.recv_timeout(LONG).map(reply).unwrap_or_default()
}

fn refusal(id: &Value, code: i64, message: &str) -> String {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}).to_string()
}
