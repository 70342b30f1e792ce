//! The last words of a child.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::AsyncReadExt;
use tokio::process::ChildStderr;
use tokio_util::sync::CancellationToken;

/// How much is kept.
const KEPT: usize = 8 * 1024;

/// How much of it an error message tells.
const TOLD: usize = 2 * 1024;

/// The end of what a child wrote to stderr.
#[derive(Debug)]
pub(crate) struct Tail {
    kept: Mutex<VecDeque<u8>>,
    spoke: CancellationToken,
    ended: CancellationToken,
}

impl Tail {
    /// An empty tail; `spoke` is set with the first word.
    pub(crate) fn new(spoke: CancellationToken) -> Tail {
        Tail { kept: Mutex::default(), spoke, ended: CancellationToken::new() }
    }

    /// The last lines, as text.
    pub(crate) fn text(&self) -> String {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let told: Vec<u8> = kept.iter().skip(kept.len().saturating_sub(TOLD)).copied().collect();
        String::from_utf8_lossy(&told).trim().to_owned()
    }

    /// Waits until nothing more can come.
    pub(crate) async fn ended(&self) {
        self.ended.cancelled().await;
    }

    fn push(&self, bytes: &[u8]) {
        self.spoke.cancel();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let last = bytes.get(bytes.len().saturating_sub(KEPT)..).unwrap_or_default();
        let over = (kept.len() + last.len()).saturating_sub(KEPT).min(kept.len());
        kept.drain(..over);
        kept.extend(last);
    }
}

/// Reads a child's stderr until its end, so that the child never stands still because nobody reads.
pub(crate) async fn read(server: Arc<str>, mut stderr: ChildStderr, tail: Arc<Tail>) {
    let mut buffer = vec![0; 4096];
    while let Ok(length @ 1..) = stderr.read(&mut buffer).await {
        let piece = buffer.get(..length).unwrap_or_default();
        tracing::debug!(%server, "stderr: {}", String::from_utf8_lossy(piece).trim_end());
        tail.push(piece);
    }
    tail.ended.cancel();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_is_kept() {
        let tail = Tail::new(CancellationToken::new());
        assert_eq!(tail.text(), "");
        tail.push(b"first ");
        tail.push(b"second\n");
        assert_eq!(tail.text(), "first second");
        tail.push(&vec![b'x'; KEPT * 3]);
        tail.push(b" end");
        assert_eq!(tail.kept.lock().unwrap().len(), KEPT);
        assert!(tail.text().ends_with("xxx end"));
        assert_eq!(tail.text().len(), TOLD);
    }
}
