//! Whose a task is, and which server has it. Requests about a task name nothing else.
//!
//! A task belongs to the caller whose call made it; for all others there is none. What is remembered has a bound and ends
//! with the process, and a task that is not remembered is nobody's: to pass on what is not known would give the tasks of
//! one caller to whoever guesses their ids.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use toolgate_protocol::message::Field;
use toolgate_protocol::{Message, Object, Span, Splice, object};

use crate::router::Target;

/// How many tasks are remembered; the oldest go first.
const CAPACITY: usize = 100_000;
/// The longest id that is remembered, in bytes.
const LONGEST_ID: usize = 1024;

/// The tasks that were made.
#[derive(Debug, Default)]
pub struct Tasks {
    known: Mutex<Known>,
}

/// Where a task is, and whose it is.
#[derive(Clone, Debug)]
pub struct Held {
    pub server: Arc<str>,
    /// The id of the caller.
    pub caller: Arc<str>,
    /// The tool whose call it does.
    pub tool: Arc<Target>,
}

#[derive(Debug, Default)]
struct Known {
    held: HashMap<Arc<str>, Held>,
    order: VecDeque<Arc<str>>,
}

impl Tasks {
    /// What is known of a task.
    pub fn find(&self, task: &str) -> Option<Held> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).held.get(task).cloned()
    }

    /// What is known of a task of this caller.
    pub fn of_caller(&self, task: &str, caller: &str) -> Option<Held> {
        self.find(task).filter(|held| *held.caller == *caller)
    }

    /// Remembers the task that a server made in answer to a call, if it made one.
    pub fn note(&self, held: impl FnOnce() -> Held, answer: &Message) {
        let Some(task) = made(answer).filter(|task| task.len() <= LONGEST_ID) else { return };
        let held = held();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = known.held.get_mut(&task) {
            // A server may begin to count its tasks anew. Another one must not take them away.
            if before.server == held.server {
                *before = held;
            }
            return;
        }
        known.held.insert(Arc::clone(&task), held);
        known.order.push_back(task);
        if known.order.len() > CAPACITY
            && let Some(oldest) = known.order.pop_front()
        {
            known.held.remove(&oldest);
        }
    }

    /// A server's list of tasks with those of one caller only; nothing where it cannot be read.
    pub fn own(&self, answer: &Message, server: &str, caller: &str) -> Option<Message> {
        let (Some(body), Some(result)) = (answer.body_place(), answer.body()) else {
            return Some(answer.clone());
        };
        let Ok(members) = Object::parse(result) else { return Some(answer.clone()) };
        let Some(place) = members.place("tasks") else { return Some(answer.clone()) };
        let is_own = |task: &&[u8]| {
            let id = Object::parse(task).ok().and_then(|task| task.text("taskId").map(String::from));
            id.and_then(|id| self.of_caller(&id, caller)).is_some_and(|held| *held.server == *server)
        };
        let tasks = object::elements(place.of(result)).ok()?;
        let own: Vec<&[u8]> = tasks.into_iter().filter(is_own).collect();
        let list = [b"[".as_slice(), &own.join(b",".as_slice()), b"]"].concat();
        let place: Span = place.shifted(body.start());
        let mut splice = Splice::new(answer.bytes(), list.len());
        splice.replace(place, &list);
        Message::parse(Bytes::from(splice.finish())).ok()
    }
}

/// The id of the task: `result.task.taskId` in 2025-11-25, `result.taskId` of result type `task` in the modern extension.
fn made(answer: &Message) -> Option<Arc<str>> {
    if let Some(task) = answer.field_text(Field::TaskId) {
        return Some(task.into());
    }
    let task = Object::parse(answer.field(Field::Task)?).ok()?;
    task.text("taskId").map(Into::into)
}

#[cfg(test)]
mod tests {
    use toolgate_governance::Kind;

    use super::*;

    fn held(server: &str, caller: &str) -> Held {
        let name = |text: &str| Arc::<str>::from(text);
        let target = Target {
            kind: Kind::Tool,
            server: name(server),
            exposed: name("t"),
            native: name("t"),
            declared_price: None,
        };
        Held { server: name(server), caller: name(caller), tool: Arc::new(target) }
    }

    fn answer(result: &str) -> Message {
        Message::parse(Bytes::from(format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#))).unwrap()
    }

    fn note(tasks: &Tasks, server: &str, caller: &str, task: &str) {
        let made = answer(&format!(r#"{{"task":{{"taskId":"{task}","status":"working"}}}}"#));
        tasks.note(|| held(server, caller), &made);
    }

    #[test]
    fn a_task_is_its_callers() {
        let tasks = Tasks::default();
        note(&tasks, "s", "anna", "one");
        assert!(tasks.of_caller("one", "anna").is_some());
        assert!(tasks.of_caller("one", "ben").is_none());
        assert!(tasks.of_caller("two", "anna").is_none());
        note(&tasks, "other", "ben", "one");
        assert!(tasks.of_caller("one", "ben").is_none(), "another server cannot take it");
        note(&tasks, "s", "ben", "one");
        assert!(tasks.of_caller("one", "ben").is_some(), "its own server can");
        note(&tasks, "s", "anna", &"x".repeat(LONGEST_ID + 1));
        assert!(tasks.find(&"x".repeat(LONGEST_ID + 1)).is_none());
    }

    #[test]
    fn lists_have_the_tasks_of_one_caller() {
        let tasks = Tasks::default();
        note(&tasks, "s", "anna", "one");
        note(&tasks, "s", "ben", "two");
        let listed = answer(
            r#"{"tasks":[{"taskId":"one"},{"taskId":"two","n":[1]},{"taskId":"three"}],"nextCursor":"c"}"#,
        );
        let check = |server: &str, caller: &str, expected: &str| {
            let own = tasks.own(&listed, server, caller).unwrap();
            assert_eq!(own.body().unwrap(), format!(r#"{{"tasks":{expected},"nextCursor":"c"}}"#).as_bytes());
        };
        check("s", "anna", r#"[{"taskId":"one"}]"#);
        check("s", "ben", r#"[{"taskId":"two","n":[1]}]"#);
        check("s", "eve", "[]");
        check("other", "anna", "[]");
        assert!(tasks.own(&answer(r#"{"tasks":7}"#), "s", "anna").is_none());
    }
}
