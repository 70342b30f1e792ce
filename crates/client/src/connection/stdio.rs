//! A child's pipes: one line, one message.

pub(crate) mod ear;
pub(crate) mod pen;

use std::sync::Arc;

use tokio::net::unix::pipe;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::board::Board;
use crate::child::nursery::ChildPlace;
use crate::child::stderr::{self, Tail};
use crate::child::{Child, Program};
use crate::connection::Ending;
use crate::connection::duplex::Duplex;
use crate::connection::lines::Lines;
use crate::connection::outlet::Outlet;
use crate::hearing::Hearing;
use crate::questions;
use ear::{Ear, Whereabouts};
use pen::Pen;

/// A child with its connection; the tasks end when the set is dropped.
pub(crate) struct Opened {
    pub(crate) child: Child,
    pub(crate) duplex: Duplex,
    pub(crate) tasks: JoinSet<()>,
    pub(crate) tail: Arc<Tail>,
    /// Set once the child has said anything.
    pub(crate) spoke: CancellationToken,
}

/// Starts a program and connects to its pipes.
pub(crate) async fn open(
    program: Program<'_>,
    place: ChildPlace,
    board: &Arc<Board>,
    ending: &Arc<Ending>,
    max_message_bytes: usize,
) -> Result<Opened, String> {
    let spoke = CancellationToken::new();
    let tail = Arc::new(Tail::new(spoke.clone()));
    let (child, streams) = Child::start(program, Arc::clone(&tail), place).await?;
    // Whoever calls writes, and must never wait for a child to read: taking a pipe out of tokio makes it one that blocks,
    // and this takes that back.
    let pipes = || {
        Ok::<_, std::io::Error>((
            pipe::Sender::from_owned_fd(streams.stdin.into_owned_fd()?)?,
            streams.stdout.into_owned_fd()?,
        ))
    };
    let (stdin, stdout) = pipes().map_err(|error| format!("its pipes cannot be used: {error}"))?;
    let (outgoing, queue) = Outlet::new();
    let (pen, patience) = Pen::new(stdin, queue, Arc::clone(ending));
    let outgoing = outgoing.with_pen(pen);
    let (desk, clerk) = questions::desk(outgoing.clone());
    let hearing = Arc::new(Hearing::new(Arc::clone(board), desk));
    let whereabouts = Arc::new(Whereabouts::here());
    let ear = Ear {
        hearing: Arc::clone(&hearing),
        ending: Arc::clone(ending),
        spoke: spoke.clone(),
        whereabouts: Arc::clone(&whereabouts),
    };
    let mut tasks = JoinSet::new();
    tasks.spawn(stderr::read(Arc::clone(board.server()), streams.stderr, Arc::clone(&tail)));
    tasks.spawn(clerk.serve());
    tasks.spawn(patience);
    tasks.spawn(ear.read(stdout, Lines::new(max_message_bytes)));
    let duplex = Duplex { outgoing, hearing, whereabouts: Some(whereabouts) };
    Ok(Opened { child, duplex, tasks, tail, spoke })
}
