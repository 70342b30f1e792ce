use std::collections::BTreeMap;

use bytes::Bytes;
use toolgate_client::{Caller, ServerSpec, Transport};
use toolgate_protocol::Version;
use toolgate_protocol::era::Envelope;

use super::*;
use crate::fleet::{Desired, Fleet};
use crate::principal::Principal;

/// A server that nobody listens for, with this `idle_stop`.
fn member(fleet: &Fleet, idle_stop: Option<Duration>) -> Arc<Member> {
    let transport = Transport::Http { url: "http://127.0.0.1:9/mcp".to_owned(), headers: BTreeMap::new() };
    let spec = ServerSpec {
        on_demand: true,
        idle_stop,
        call_timeout: Duration::from_secs(1),
        connect_timeout: Duration::from_secs(1),
        max_concurrency: 1,
        max_waiting: 1,
        ..ServerSpec::new("s", transport)
    };
    let desired = Desired { isolated: true, ..Desired::from(spec) };
    fleet.apply(vec![desired], |_| None).remove(0)
}

fn with_room_for(capacity: usize) -> Isolated {
    Isolated { capacity, ..Isolated::new(Arc::default()) }
}

fn envelope(era: Era) -> Envelope {
    Envelope::new(era, Bytes::from_static(b"{}"), None)
}

fn legacy(key: u64) -> Client {
    let principal = Arc::new(Principal::named("anna"));
    Client::Legacy(Arc::new(Session::new(key, Version::NEWEST_LEGACY, principal, envelope(Era::Legacy))))
}

fn modern(name: &str) -> Client {
    let caller = Caller { key: 0, envelope: envelope(Era::Modern), log_level: None };
    Client::Modern { caller: Arc::new(caller), principal: Arc::new(Principal::named(name)) }
}

#[tokio::test]
async fn a_session_is_one_client_and_so_is_a_caller_without_one() {
    let tracker = TaskTracker::new();
    let (fleet, _news) = Fleet::new(tracker.clone());
    let (member, isolated) = (member(&fleet, None), with_room_for(CAPACITY));
    let (first, second) = (legacy(1), legacy(2));
    for (client, expected) in [
        (&first, 1),
        (&second, 2),
        (&first, 2),
        (&modern("anna"), 3),
        (&modern("anna"), 3),
        (&modern("ben"), 4),
    ] {
        isolated.server(&member, client, &tracker).unwrap();
        assert_eq!(isolated.lock().len(), expected, "{client:?}");
    }
    isolated.stop(Duration::ZERO).await;
}

#[tokio::test]
async fn there_is_no_room_until_a_client_leaves() {
    let tracker = TaskTracker::new();
    let (fleet, _news) = Fleet::new(tracker.clone());
    let (member, isolated) = (member(&fleet, None), with_room_for(2));
    let (first, second) = (legacy(1), legacy(2));
    isolated.server(&member, &first, &tracker).unwrap();
    isolated.server(&member, &second, &tracker).unwrap();
    assert_eq!(isolated.server(&member, &modern("anna"), &tracker).unwrap_err(), TooMany(2));
    assert!(isolated.server(&member, &first, &tracker).is_ok(), "who has one keeps it");
    isolated.end_session(1);
    isolated.server(&member, &modern("anna"), &tracker).unwrap();
    assert_eq!(isolated.server(&member, &modern("ben"), &tracker).unwrap_err(), TooMany(2));
    // One whose session is gone makes room without being swept first.
    drop(second);
    isolated.server(&member, &modern("ben"), &tracker).unwrap();
    isolated.stop(Duration::ZERO).await;
}

#[tokio::test]
async fn silent_clients_lose_their_servers_and_so_do_those_of_changed_records() {
    let tracker = TaskTracker::new();
    let (fleet, _news) = Fleet::new(tracker.clone());
    let isolated = with_room_for(CAPACITY);
    let client = legacy(1);
    let patient = member(&fleet, None);
    isolated.server(&patient, &client, &tracker).unwrap();
    isolated.sweep();
    assert_eq!(isolated.lock().len(), 1, "it was there just now");
    let impatient = member(&fleet, Some(Duration::ZERO));
    isolated.server(&impatient, &client, &tracker).unwrap();
    assert_eq!(isolated.lock().len(), 1, "a changed record replaces it");
    tokio::time::sleep(Duration::from_millis(2)).await;
    isolated.sweep();
    assert_eq!(isolated.lock().len(), 0, "it has been silent for too long");
}
