//! Alerts: what is logged with the field `alert` is also posted to the operators' webhook.
//!
//! Logging must never wait, so alerts go through a short queue to one task. A failing disk makes thousands of the same
//! kind: of each kind one is posted in a minute, and the next one says how many were left out.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;
use serde_json::json;
use tokio::sync::mpsc::{self, Receiver, Sender};
use toolgate_client::fetch::{Fetch, fetch};
use toolgate_config::{Config, Secret};
use toolgate_gateway::Gateway;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// How many alerts may wait; further ones are only logged.
const WAITING: usize = 64;
/// One alert of a kind in this time.
const PAUSE: Duration = Duration::from_secs(60);
/// More kinds than there are.
const MOST_KINDS: usize = 64;
/// How long the webhook may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest answer of the webhook, which nobody reads.
const LONGEST_ANSWER: usize = 64 * 1024;
/// The longest value of a field, in characters.
const LONGEST_VALUE: usize = 1024;

/// Alerts from before the gateway is there wait here.
static EARLY: Mutex<Option<Receiver<Alert>>> = Mutex::new(None);

/// Something that an operator must know.
#[derive(Debug, Default)]
struct Alert {
    kind: String,
    message: String,
    details: BTreeMap<&'static str, String>,
}

/// The part of the log that hears alerts.
pub(crate) struct AlertLayer {
    queue: Sender<Alert>,
}

/// Begins to hear alerts.
pub(crate) fn layer() -> AlertLayer {
    let (queue, alerts) = mpsc::channel(WAITING);
    *EARLY.lock().unwrap_or_else(PoisonError::into_inner) = Some(alerts);
    AlertLayer { queue }
}

/// Begins to post alerts, where there is a webhook. The task ends with the gateway.
pub(crate) fn begin(gateway: &Gateway, config: &Config) {
    let alerts = EARLY.lock().unwrap_or_else(PoisonError::into_inner).take();
    let (Some(alerts), Some(webhook)) = (alerts, config.ledger.alert_webhook.clone()) else { return };
    let stopping = gateway.stopping.clone();
    gateway.tracker.spawn(async move {
        tokio::select! {
            () = stopping.cancelled() => {}
            () = post_all(alerts, &webhook) => {}
        }
    });
}

async fn post_all(mut alerts: Receiver<Alert>, webhook: &Secret) {
    let mut throttle = Throttle::default();
    while let Some(alert) = alerts.recv().await {
        if let Some(left_out) = throttle.admit(&alert.kind, Instant::now())
            && let Err(problem) = post(&alert, left_out, webhook).await
        {
            tracing::warn!(kind = alert.kind, problem, "the alert did not reach the webhook");
        }
    }
}

async fn post(alert: &Alert, left_out: u64, webhook: &Secret) -> Result<(), String> {
    let body = json!({
        "source": "toolgate",
        "version": env!("CARGO_PKG_VERSION"),
        "time": jiff::Timestamp::now().to_string(),
        "kind": alert.kind,
        "message": alert.message,
        "details": alert.details,
        "left_out": left_out,
    });
    let headers = BTreeMap::from([("content-type".to_owned(), "application/json".to_owned())]);
    let request = Fetch {
        method: &Method::POST,
        url: webhook.expose(),
        headers: &headers,
        body: &Bytes::from(body.to_string()),
        patience: PATIENCE,
        limit: LONGEST_ANSWER,
    };
    match fetch(request).await {
        Ok((status, _)) if status.is_success() => Ok(()),
        Ok((status, _)) => Err(format!("it answers with status {status}")),
        Err(error) => Err(error.to_string()),
    }
}

/// Lets one alert of a kind through in a while.
#[derive(Debug, Default)]
struct Throttle {
    kinds: HashMap<String, (Instant, u64)>,
}

impl Throttle {
    /// How many of the kind were left out since the last one; nothing where this one is left out too.
    fn admit(&mut self, kind: &str, now: Instant) -> Option<u64> {
        if let Some((last, left_out)) = self.kinds.get_mut(kind) {
            if now.duration_since(*last) < PAUSE {
                *left_out += 1;
                return None;
            }
            *last = now;
            return Some(std::mem::take(left_out));
        }
        if self.kinds.len() >= MOST_KINDS {
            self.kinds.clear();
        }
        self.kinds.insert(kind.to_owned(), (now, 0));
        Some(0)
    }
}

impl<S: Subscriber> Layer<S> for AlertLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        // Most events are none, and cost only this look at their fields.
        if event.metadata().fields().field("alert").is_some() {
            let mut alert = Alert::default();
            event.record(&mut alert);
            let _ = self.queue.try_send(alert);
        }
    }
}

impl fmt::Debug for AlertLayer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("AlertLayer")
    }
}

impl Visit for Alert {
    fn record_str(&mut self, field: &Field, value: &str) {
        let value: String = value.chars().take(LONGEST_VALUE).collect();
        match field.name() {
            "alert" => self.kind = value,
            "message" => self.message = value,
            name => {
                self.details.insert(name, value);
            }
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    #[test]
    fn one_alert_of_a_kind_in_a_minute() {
        let start = Instant::now();
        let mut throttle = Throttle::default();
        let mut check = |kind: &str, seconds: u64, expected: Option<u64>| {
            assert_eq!(
                throttle.admit(kind, start + Duration::from_secs(seconds)),
                expected,
                "{kind} {seconds}"
            );
        };
        check("ledger", 0, Some(0));
        check("ledger", 1, None);
        check("policy", 1, Some(0));
        check("ledger", 59, None);
        check("ledger", 60, Some(2));
        check("ledger", 120, Some(0));
    }

    #[tokio::test]
    async fn what_is_logged_as_an_alert_reaches_the_webhook() {
        let (queue, alerts) = mpsc::channel(WAITING);
        let subscriber = tracing_subscriber::registry().with(AlertLayer { queue });
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!("all is well");
            tracing::error!(alert = "ledger", error = %"disk full", "a call could not be recorded");
            tracing::error!(alert = "ledger", "again");
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let webhook = Secret::new(format!("http://{}/hook", listener.local_addr().unwrap()));
        let received = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = String::new();
            while !request.ends_with('}') {
                let mut piece = [0; 4096];
                let length = stream.read(&mut piece).await.unwrap();
                request.push_str(std::str::from_utf8(&piece[..length]).unwrap());
            }
            stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
            request
        });
        // The layer, and with it the queue, is gone: this ends when all has been posted.
        post_all(alerts, &webhook).await;
        let request = received.await.unwrap();
        assert!(request.starts_with("POST /hook HTTP/1.1\r\n"), "{request}");
        let body: serde_json::Value =
            serde_json::from_str(request.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        assert_eq!(body["kind"], "ledger");
        assert_eq!(body["message"], "a call could not be recorded");
        assert_eq!(body["details"], json!({"error": "disk full"}));
    }
}
