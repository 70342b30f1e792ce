//! A child's pipes: one line, one message.

use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt, BufWriter};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::board::Board;
use crate::child::stderr::{self, Tail};
use crate::child::{Child, Program};
use crate::connection::duplex::Duplex;
use crate::connection::lines::{Line, Lines};
use crate::connection::{Ending, Outbound, QUEUE};
use crate::hearing::Hearing;
use crate::questions;

/// How much is gathered before it is written, if more is waiting.
const GATHERED: usize = 32 * 1024;

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
    board: &Arc<Board>,
    ending: &Arc<Ending>,
    max_message_bytes: usize,
) -> Result<Opened, String> {
    let spoke = CancellationToken::new();
    let tail = Arc::new(Tail::new(spoke.clone()));
    let (child, streams) = Child::start(program, Arc::clone(&tail)).await?;
    let (outgoing, queue) = mpsc::channel(QUEUE);
    let (desk, clerk) = questions::desk(outgoing.clone());
    let hearing = Arc::new(Hearing::new(Arc::clone(board), desk));
    let mut tasks = JoinSet::new();
    tasks.spawn(stderr::read(Arc::clone(board.server()), streams.stderr, Arc::clone(&tail)));
    tasks.spawn(clerk.serve());
    tasks.spawn(write(streams.stdin, queue, Arc::clone(ending)));
    let reader = Reader { hearing: Arc::clone(&hearing), ending: Arc::clone(ending), spoke: spoke.clone() };
    tasks.spawn(reader.read(streams.stdout, Lines::new(max_message_bytes)));
    Ok(Opened { child, duplex: Duplex { outgoing, hearing }, tasks, tail, spoke })
}

/// Writes what waits, in as few system calls as possible: it is pushed out only when nothing more waits.
async fn write(stdin: ChildStdin, mut queue: mpsc::Receiver<Outbound>, ending: Arc<Ending>) {
    let mut stdin = BufWriter::with_capacity(GATHERED, stdin);
    while let Some(first) = queue.recv().await {
        let mut next = Some(first);
        while let Some(outbound) = next {
            if let Err(error) = write_line(&mut stdin, &outbound.bytes).await {
                return ending.end(format!("the process closed its input ({error})"));
            }
            next = queue.try_recv().ok();
        }
        if let Err(error) = stdin.flush().await {
            return ending.end(format!("the process closed its input ({error})"));
        }
    }
}

async fn write_line(stdin: &mut BufWriter<ChildStdin>, message: &[u8]) -> std::io::Result<()> {
    if memchr::memchr2(b'\n', b'\r', message).is_none() {
        stdin.write_all(message).await?;
    } else {
        // Line ends between the members of a message mean nothing; inside of strings JSON has none.
        let spaced: Vec<u8> =
            message.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }).collect();
        stdin.write_all(&spaced).await?;
    }
    stdin.write_all(b"\n").await
}

/// The reading side of the pipes.
struct Reader {
    hearing: Arc<Hearing>,
    ending: Arc<Ending>,
    spoke: CancellationToken,
}

impl Reader {
    async fn read(self, mut stdout: ChildStdout, mut lines: Lines) {
        let cause = loop {
            match stdout.read_buf(lines.room()).await {
                Ok(0) => break "the process closed its output".to_owned(),
                Ok(_) => {}
                Err(error) => break format!("the output of the process cannot be read: {error}"),
            }
            self.spoke.cancel();
            while let Some(line) = lines.next() {
                match line {
                    Line::Whole(bytes) => self.hearing.hear(bytes),
                    Line::TooLong { answers } => {
                        self.hearing.unusable(answers, "a line longer than a message may be".to_owned());
                    }
                }
            }
        };
        self.ending.end(cause);
    }
}
