//! When records are written, and what of an answer waits for it.

use std::pin::pin;
use std::task::Poll;

use futures_util::poll;
use tempfile::TempDir;
use toolgate_ledger::{Durability, Kind, Ledger, RedactionRules, Redactor, Settings};
use toolgate_protocol::Era;

use super::*;
use crate::principal::Principal;
use crate::recorder::{OnFailure, Recorder};
use crate::router::Target;

struct Scene {
    gate: Arc<Gate>,
    ledger: Arc<Ledger>,
    _place: TempDir,
}

impl Scene {
    fn open() -> Scene {
        let place = TempDir::new().unwrap();
        // Records that the disk must confirm wait for each other; others are safe at once.
        let settings = Settings { durability: Durability::Always, ..Settings::new(place.path()) };
        let ledger = Arc::new(Ledger::open(settings).unwrap());
        let redactor = Redactor::new(&RedactionRules::default()).unwrap();
        let recorder = Recorder::new(Arc::clone(&ledger), redactor, 1_000, OnFailure::Deny);
        let gate = Arc::new(Gate::new(Gate::default().policy(), Some(recorder)));
        Scene { gate, ledger, _place: place }
    }

    fn begun(&self) -> Closing {
        let draft = Draft {
            time_us: 1,
            principal: Arc::new(Principal::named("ann")),
            kind: Kind::ToolCall,
            target: Arc::new(Target {
                kind: toolgate_governance::Kind::Tool,
                server: "weather".into(),
                exposed: "weather__forecast".into(),
                native: "forecast".into(),
                declared_price: None,
            }),
            era: Era::Legacy,
            arguments: None,
            trace_id: None,
        };
        Closing::new(Arc::clone(&self.gate), draft, Instant::now(), 1)
    }

    /// A call that has its answer.
    fn ended(&self) -> Closing {
        let mut closing = self.begun();
        closing.begin_to_close(Ended { status: Status::Ok, error_code: None, body: Some(b"{}") }).unwrap();
        closing
    }

    fn written(&self) -> u64 {
        self.ledger.health().appended
    }
}

#[tokio::test]
async fn calls_that_end_together_are_written_together_before_any_answer_leaves() {
    let scene = Scene::open();
    let (mut first, mut second) = (scene.ended(), scene.ended());
    let (mut first, mut second) = (pin!(first.on_record()), pin!(second.on_record()));
    assert!(poll!(&mut first).is_pending());
    assert!(poll!(&mut second).is_pending());
    assert_eq!(scene.written(), 0, "the others that are ready come first");
    assert!(matches!(poll!(&mut second), Poll::Ready(Ok(()))));
    assert_eq!(scene.written(), 2, "one writes for all");
    assert!(matches!(poll!(&mut first), Poll::Ready(Ok(()))));
    assert_eq!(scene.written(), 2);
}

#[tokio::test]
async fn a_call_alone_waits_for_nobody() {
    let scene = Scene::open();
    scene.ended().on_record().await.unwrap();
    assert_eq!(scene.written(), 1);
}

#[tokio::test]
async fn a_client_that_leaves_takes_no_record_along() {
    let scene = Scene::open();
    let mut closing = scene.ended();
    assert!(poll!(pin!(closing.on_record())).is_pending());
    drop(closing);
    assert_eq!(scene.written(), 1);
    drop(scene.ended());
    assert_eq!(scene.written(), 2);
}

#[test]
fn a_call_that_is_closed_is_written_at_once() {
    let scene = Scene::open();
    let mut closing = scene.begun();
    closing.close(Ended { status: Status::Error, error_code: Some(-32001), body: None }).unwrap();
    assert_eq!(scene.written(), 1);
}
