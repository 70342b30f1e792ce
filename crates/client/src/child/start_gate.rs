//! How many children may start at a time in this process: twenty `npx` at once make a machine stand still.

use tokio::sync::{Semaphore, SemaphorePermit};

const AT_A_TIME: usize = 4;

static GATE: Semaphore = Semaphore::const_new(AT_A_TIME);

/// Waits for a place among those that start. Others may start once the permit is dropped.
pub(crate) async fn enter() -> Option<SemaphorePermit<'static>> {
    GATE.acquire().await.ok()
}
