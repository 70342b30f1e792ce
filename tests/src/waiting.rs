//! Waiting for something to become true, with an end.

use std::thread;
use std::time::{Duration, Instant};

/// Nothing in these tests takes this long unless it hangs.
pub const LONG: Duration = Duration::from_secs(20);

/// Looks again and again until something is there; fails the test, in `what`'s words, when it does not come.
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + LONG;
    let mut pause = Duration::from_millis(2);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited {LONG:?} for: {what}");
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}
