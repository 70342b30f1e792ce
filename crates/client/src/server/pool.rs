//! Several processes of one program that are one server to everybody else.
//!
//! Each is supervised on its own, so one that crashes or is stuck takes only its own calls with it. A call goes to the
//! one with the fewest under way; finding it reads a few atomics and takes no lock. The states of all are told as one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::join_all;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use toolgate_protocol::Message;
use toolgate_protocol::message::Field;

use super::Shared;
use crate::board::Board;
use crate::capacity::Capacity;
use crate::news::{News, What};
use crate::spec::{ServerSpec, Transport};
use crate::status::{State, Status};

/// The variable that tells a process which of several it is, counted from 1. One that asks its client for input begins
/// the `requestState` with this number and a dot, so that the answers come back to it.
const NUMBER: &str = "TOOLGATE_PROCESS";
/// The most processes of one server.
const MOST: usize = 256;
/// How many pieces of news of all processes may wait.
const NEWS: usize = 64;

/// The processes of one server.
#[derive(Debug)]
pub(super) struct Pool {
    first: Arc<Shared>,
    /// All of them, the first included.
    processes: Vec<Arc<Shared>>,
    /// What others see.
    board: Arc<Board>,
    /// Whether each has been ready, asleep or down once. Before, the server counts as starting: a successor that took
    /// over with its first process would do the work of all with it.
    has_begun: AtomicBool,
}

impl Pool {
    /// Begins to supervise all processes; the first of them comes back too.
    pub(super) fn start(
        spec: &ServerSpec,
        capacity: &Arc<Capacity>,
        news: mpsc::Sender<News>,
        stop: &CancellationToken,
    ) -> (Arc<Pool>, Arc<Shared>) {
        let (telling, told) = mpsc::channel(NEWS);
        let start = |number: usize| {
            let board = Arc::new(Board::new(Arc::clone(&spec.name), telling.clone()));
            Shared::start(numbered(spec, number), board, Arc::clone(capacity), stop.clone())
        };
        let first = start(1);
        let others = (2..=spec.processes.min(MOST)).map(start);
        let processes = std::iter::once(Arc::clone(&first)).chain(others).collect();
        let board = Arc::new(Board::new(Arc::clone(&spec.name), news));
        let pool =
            Arc::new(Pool { first: Arc::clone(&first), processes, board, has_begun: AtomicBool::new(false) });
        tokio::spawn(Arc::clone(&pool).attend(told));
        (pool, first)
    }

    /// All of them.
    pub(super) fn processes(&self) -> &[Arc<Shared>] {
        &self.processes
    }

    /// What is known of all of them together.
    pub(super) fn status(&self) -> Status {
        self.board.status()
    }

    /// Where a client's request goes: to the process that waits for these very answers, or to the one with least to do.
    pub(super) fn process_for(&self, message: &Message) -> &Arc<Shared> {
        let state = message.field_text(Field::RequestState);
        let asked_by = state.as_deref().and_then(number_in).and_then(|number| self.numbered(number));
        asked_by.unwrap_or_else(|| self.least_busy())
    }

    /// The process with the fewest calls of those that answer. Where all of these are busy, one that sleeps is woken.
    pub(super) fn least_busy(&self) -> &Arc<Shared> {
        let mut best: Option<(usize, &Arc<Shared>)> = None;
        let mut sleeper = None;
        for process in &self.processes {
            if process.blocked.load(Ordering::Acquire) {
                continue;
            }
            if process.link.load().is_none() {
                let asleep = process.asleep.load(Ordering::Acquire);
                sleeper = sleeper.or(asleep.then_some(process));
                continue;
            }
            let running = process.activity.running();
            if best.is_none_or(|(fewest, _)| running < fewest) {
                best = Some((running, process));
            }
        }
        match (best, sleeper) {
            (Some((0, idle)), _) => idle,
            (Some((_, busy)), Some(sleeper)) => {
                sleeper.demand.notify_one();
                busy
            }
            (Some((_, busy)), None) => busy,
            (None, _) => self.most_hopeful(),
        }
    }

    /// Writes down what is known of all processes together.
    pub(super) fn show(&self) {
        let draining = self.first.is_draining();
        let statuses: Vec<_> = self.processes.iter().map(|process| process.board.status()).collect();
        let starting = statuses.iter().find(|status| status.state == State::Connecting);
        let first_start = starting.filter(|_| !self.has_begun.load(Ordering::Acquire));
        self.has_begun.fetch_or(first_start.is_none(), Ordering::AcqRel);
        if let Some(status) =
            first_start.filter(|_| !draining).cloned().or_else(|| together(&statuses, draining))
        {
            self.board.show(status);
        }
    }

    fn numbered(&self, number: usize) -> Option<&Arc<Shared>> {
        self.processes.get(number.checked_sub(1)?)
    }

    /// None answers: the process that will do so soonest, and of equals the one that fewest wait for.
    fn most_hopeful(&self) -> &Arc<Shared> {
        let hope = |process: &&Arc<Shared>| (rank(process.board.status().state), process.activity.running());
        self.processes.iter().min_by_key(hope).unwrap_or(&self.first)
    }

    /// Hears what the processes say until all have ended.
    async fn attend(self: Arc<Self>, mut told: mpsc::Receiver<News>) {
        let hear = async {
            while let Some(news) = told.recv().await {
                match news.what {
                    What::State(_) => self.show(),
                    what => self.board.announce(what),
                }
            }
        };
        tokio::select! {
            () = hear => {}
            never = self.board.settle() => match never {},
            _ = join_all(self.processes.iter().map(|process| process.stopped.cancelled())) => {}
        }
        self.show();
    }
}

fn numbered(spec: &ServerSpec, number: usize) -> ServerSpec {
    let mut spec = spec.clone();
    if let Transport::Stdio { env, .. } = &mut spec.transport {
        env.insert(NUMBER.to_owned(), number.to_string());
    }
    spec
}

fn number_in(state: &str) -> Option<usize> {
    state.split_once('.')?.0.parse().ok()
}

/// The best state, with the cause of the worst.
fn together(statuses: &[Status], draining: bool) -> Option<Status> {
    let best = statuses.iter().min_by_key(|status| rank(status.state))?;
    let troubled = statuses.iter().enumerate().filter(|(_, status)| status.cause.is_some());
    let worst = troubled.max_by_key(|(_, status)| rank(status.state));
    let count = statuses.len();
    let cause = worst.and_then(|(place, status)| {
        let cause = status.cause.as_ref()?;
        Some(format!("process {} of {count} is {}: {cause}", place + 1, status.state))
    });
    let mut together = Status { cause, ..best.clone() };
    together.greeting = together.greeting.or_else(|| statuses.iter().find_map(|one| one.greeting.clone()));
    if draining {
        together.state = State::Draining;
        together.cause = Some("it is being stopped".to_owned());
    }
    Some(together)
}

/// The lower, the sooner it answers.
fn rank(state: State) -> u8 {
    match state {
        State::Ready => 0,
        State::Degraded => 1,
        State::Connecting => 2,
        State::Asleep => 3,
        State::Draining => 4,
        State::Down => 5,
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant, SystemTime};

    use super::*;

    fn status(state: State, cause: Option<&str>) -> Status {
        Status {
            state,
            cause: cause.map(str::to_owned),
            since: Instant::now(),
            since_wall: SystemTime::now(),
            retry_after: Some(Duration::from_secs(1)),
            greeting: None,
        }
    }

    #[test]
    fn the_best_state_is_told_with_the_worst_cause() {
        use State::{Asleep, Connecting, Degraded, Down, Draining, Ready};
        let check = |states: &[(State, Option<&str>)], draining, expected: (State, Option<&str>)| {
            let statuses: Vec<_> = states.iter().map(|(state, cause)| status(*state, *cause)).collect();
            let told = together(&statuses, draining).unwrap();
            assert_eq!((told.state, told.cause.as_deref()), expected, "{states:?}");
        };
        check(&[(Ready, None), (Ready, None)], false, (Ready, None));
        check(&[(Connecting, None), (Ready, None)], false, (Ready, None));
        check(&[(Asleep, None), (Connecting, None)], false, (Connecting, None));
        check(
            &[(Degraded, Some("slow")), (Down, Some("gone")), (Ready, None)],
            false,
            (Ready, Some("process 2 of 3 is down: gone")),
        );
        check(
            &[(Down, Some("first")), (Down, Some("last"))],
            false,
            (Down, Some("process 2 of 2 is down: last")),
        );
        check(&[(Ready, None), (Down, Some("gone"))], true, (Draining, Some("it is being stopped")));
    }

    #[test]
    fn the_number_before_the_dot_says_who_asked() {
        let check = |state: &str, expected| assert_eq!(number_in(state), expected, "{state}");
        check("2.a8f0", Some(2));
        check("12.", Some(12));
        check("2", None);
        check("x.2", None);
        check("-1.2", None);
        check("", None);
    }
}
