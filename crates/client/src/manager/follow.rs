//! Following one server: its lists are fetched when it is ready, when it says that they changed, and when they are old.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::board::{Board, Generation};
use super::lists::{self, Kind};
use crate::news::{News, What};
use crate::server::Server;
use crate::status::State;

/// Follows the news of one server until it is removed.
pub(super) async fn follow(
    server: Server,
    generation: Generation,
    mut news: mpsc::Receiver<News>,
    board: Arc<Board>,
) {
    let mut fetched = Instant::now();
    loop {
        let trusted_for = board.trusted_for();
        let old = async {
            match trusted_for {
                Some(time) => sleep_until(fetched + time).await,
                None => std::future::pending().await,
            }
        };
        let kinds = tokio::select! {
            news = news.recv() => match news {
                Some(news) => stale_after(news.what, &server, generation, &board),
                None => return,
            },
            () = old => {
                fetched = Instant::now();
                let answers = matches!(server.status().state, State::Ready | State::Degraded);
                if answers { lists::unannounced(&server) } else { Vec::new() }
            }
        };
        if kinds.is_empty() {
            continue;
        }
        if kinds == Kind::ALL {
            fetched = Instant::now();
        }
        refresh(&server, generation, &board, &kinds).await;
    }
}

/// Which lists must be fetched after this.
fn stale_after(what: What, server: &Server, generation: Generation, board: &Board) -> Vec<Kind> {
    match what {
        What::State(status) if status.state == State::Down => {
            let cause = status.cause.as_deref().unwrap_or("");
            tracing::error!(server = %server.name(), cause, "the server is down; the others go on");
            board.heard(server.name(), generation, Vec::new());
            Vec::new()
        }
        What::State(status) if status.state == State::Ready => Kind::ALL.to_vec(),
        What::Heard => Kind::ALL.to_vec(),
        What::ToolsChanged => vec![Kind::Tools],
        What::PromptsChanged => vec![Kind::Prompts],
        What::ResourcesChanged => vec![Kind::Resources],
        // Questions among these are answered with an error when they are dropped: there is nobody to ask.
        _ => Vec::new(),
    }
}

async fn refresh(server: &Server, generation: Generation, board: &Board, kinds: &[Kind]) {
    let mut listed = Vec::with_capacity(kinds.len());
    for kind in kinds {
        match lists::fetch(server, *kind).await {
            Ok(entries) => listed.push((*kind, entries)),
            Err(error) => tracing::warn!(server = %server.name(), %error, "a list could not be fetched"),
        }
    }
    board.heard(server.name(), generation, listed);
}
