//! Which server has which task. Requests about a task name nothing else.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use toolgate_protocol::message::Field;
use toolgate_protocol::{Message, Object};

/// How many tasks are remembered; the oldest go first.
const CAPACITY: usize = 100_000;

/// The owners of tasks.
#[derive(Debug, Default)]
pub struct Tasks {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    owners: HashMap<Arc<str>, Arc<str>>,
    order: VecDeque<Arc<str>>,
}

impl Tasks {
    /// The server that has a task.
    pub fn owner(&self, task: &str) -> Option<Arc<str>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).owners.get(task).cloned()
    }

    /// Remembers the task that a server made in answer to a call, if it made one.
    pub fn note(&self, server: &Arc<str>, answer: &Message) {
        let Some(task) = made(answer) else { return };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.owners.insert(Arc::clone(&task), Arc::clone(server)).is_some() {
            return;
        }
        known.order.push_back(task);
        if known.order.len() > CAPACITY
            && let Some(oldest) = known.order.pop_front()
        {
            known.owners.remove(&oldest);
        }
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
