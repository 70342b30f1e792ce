//! Sends requests, where the rules allow it, and repeats those that can be repeated.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use http::{Method, StatusCode};
use tokio::time::{Instant, sleep, timeout_at};
use toolgate_client::fetch::{Fetch, FetchError, Fetched, fetch_at};
use url::Url;

use crate::binding::LONGEST_TIMEOUT;
use crate::egress::{Denied, Egress, Found, MOST_REDIRECTS, look_up};
use crate::request::Request;

/// How long the pause before the first repetition is, and before any.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(3);

/// Sends requests. Those who share one share its rules, which can change while requests are under way.
#[derive(Clone, Debug)]
pub struct Courier {
    egress: Arc<ArcSwap<Egress>>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Undelivered {
    /// The request may not be sent.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// The address is none.
    #[error("the address cannot be used: {0}")]
    NoUrl(#[from] url::ParseError),
    /// The exchange failed.
    #[error("the request failed: {0}")]
    Failed(#[from] FetchError),
    /// It took too long.
    #[error("there is no answer within {} s", .0.as_secs_f32())]
    TooSlow(Duration),
}

impl Courier {
    /// One that obeys these rules.
    pub fn new(egress: Egress) -> Courier {
        Courier { egress: Arc::new(ArcSwap::from_pointee(egress)) }
    }

    /// The rules.
    pub fn egress(&self) -> Arc<Egress> {
        self.egress.load_full()
    }

    /// Obeys these rules from the next request on.
    pub fn obey(&self, egress: Egress) {
        self.egress.store(Arc::new(egress));
    }

    /// Sends a request and gives the whole answer, whatever its status. It is sent again up to `retries` times where
    /// no answer comes, or one that says to come again.
    pub async fn send(
        &self,
        request: &Request,
        patience: Duration,
        retries: u32,
    ) -> Result<Fetched, Undelivered> {
        let end = Instant::now() + patience;
        let mut pause = FIRST_PAUSE;
        for _ in 0..retries {
            let sent = timeout_at(end, self.follow(request)).await;
            match sent.map_err(|_| Undelivered::TooSlow(patience))? {
                Ok(fetched) if !is_passing(fetched.status) => return Ok(fetched),
                Ok(_) | Err(Undelivered::Failed(_)) => {}
                Err(other) => return Err(other),
            }
            if Instant::now() + pause >= end {
                break;
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        timeout_at(end, self.follow(request)).await.map_err(|_| Undelivered::TooSlow(patience))?
    }

    /// Sends a request once, and goes where the answer sends us as far as that is allowed.
    async fn follow(&self, request: &Request) -> Result<Fetched, Undelivered> {
        self.follow_names(request, look_up).await
    }

    /// The same with another way to look names up.
    async fn follow_names(
        &self,
        request: &Request,
        look_up: impl Fn(&str, u16) -> Found,
    ) -> Result<Fetched, Undelivered> {
        let mut url = Url::parse(&request.url)?;
        let mut headers = request.headers.clone();
        let egress = self.egress();
        let mut left = egress.redirects.min(MOST_REDIRECTS);
        loop {
            let addresses = egress.addresses(&url, &look_up).await?;
            let fetch = Fetch {
                method: &request.method,
                url: url.as_str(),
                headers: &headers,
                body: &request.body,
                // The time of the whole call ends it before.
                patience: LONGEST_TIMEOUT,
                limit: egress.max_answer_bytes,
            };
            let fetched = Box::pin(fetch_at(fetch, &addresses)).await?;
            let next = fetched.location.as_deref().and_then(|location| url.join(location).ok());
            match next {
                // Only what changes nothing is asked a second time elsewhere.
                Some(next)
                    if left > 0 && fetched.status.is_redirection() && request.method == Method::GET =>
                {
                    if next.origin() != url.origin() {
                        // What is meant for one host is not told to another.
                        headers.retain(|name, _| matches!(name.as_str(), "accept" | "user-agent"));
                    }
                    url = next;
                    left -= 1;
                }
                _ => return Ok(fetched),
            }
        }
    }
}

/// Whether an answer says that the same request may succeed later.
fn is_passing(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
    )
}

#[cfg(test)]
mod tests;
