//! How long to wait before trying again.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// The first retry comes fast: most failures are restarts.
const FIRST: Duration = Duration::from_millis(100);
const SECOND: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// Waits that double up to a minute, each with jitter, so that many that failed together do not return together.
#[derive(Debug, Default)]
pub struct Backoff {
    failures: u32,
}

impl Backoff {
    /// The wait after one more failure.
    pub fn fail(&mut self) -> Duration {
        let wait = match self.failures {
            0 => FIRST,
            failures => SECOND.saturating_mul(1 << (failures - 1).min(16)).min(LONGEST),
        };
        self.failures = self.failures.saturating_add(1);
        jittered(wait)
    }

    /// How many failures there were since the last success.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// It went well.
    pub fn succeed(&mut self) {
        self.failures = 0;
    }
}

/// `wait` shortened by up to a quarter.
fn jittered(wait: Duration) -> Duration {
    let random = RandomState::new().hash_one(0_u8) % 256;
    wait - wait.mul_f64(random as f64 / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_a_minute_and_begin_anew_after_success() {
        let mut backoff = Backoff::default();
        let within = |wait: Duration, limit: Duration| {
            assert!(wait <= limit && wait >= limit.mul_f64(0.74), "{wait:?} for {limit:?}");
        };
        within(backoff.fail(), FIRST);
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
            within(backoff.fail(), Duration::from_secs(seconds));
        }
        backoff.succeed();
        within(backoff.fail(), FIRST);
    }
}
