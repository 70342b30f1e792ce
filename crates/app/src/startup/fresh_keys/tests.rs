use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use toolgate_identity::{IssuerSettings, Keys, NewKey, Presented, Settings};

use super::*;

const SET: &str =
    r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;

/// An issuer that answers as many requests as there are answers, and then ends.
async fn issuer(answers: Vec<String>) -> (JwtIssuer, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let issuer = JwtIssuer {
        issuer: "https://issuer".into(),
        audience: "toolgate".into(),
        jwks_file: None,
        jwks_url: Some(format!("http://{}/keys", listener.local_addr().unwrap())),
        caller_claim: "sub".into(),
        groups_claim: None,
    };
    let serving = tokio::spawn(async move {
        for answer in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            assert!(stream.read(&mut [0; 4096]).await.unwrap() > 0);
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    (issuer, serving)
}

fn answer(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

fn authenticator() -> Arc<Authenticator> {
    let settings =
        Settings { issuers: vec![IssuerSettings::new("https://issuer", "toolgate")], ..Settings::default() };
    Arc::new(Authenticator::new(settings, Keys::new(&[])))
}

#[tokio::test]
async fn only_a_set_of_keys_is_taken() {
    let check = async |answered: String, expected: Option<&str>| {
        let (issuer, serving) = issuer(vec![answered]).await;
        let problem = fetched(&issuer).await.err();
        match (&problem, expected) {
            (None, None) => {}
            (Some(problem), Some(words)) => assert!(problem.contains(words), "{problem}"),
            other => panic!("{other:?}"),
        }
        serving.await.unwrap();
    };
    check(answer("200 OK", SET), None).await;
    check(answer("200 OK", "{}"), Some("JSON Web Key Set")).await;
    check(answer("503 Service Unavailable", SET), Some("503")).await;
}

#[tokio::test]
async fn keys_are_fetched_remembered_and_fetched_again_when_one_is_missed() {
    let folder = tempfile::tempdir().unwrap();
    let (issuer, serving) = issuer(vec![answer("200 OK", SET), answer("200 OK", SET)]).await;
    let authenticator = authenticator();
    let before = authenticator.revision();
    let wish = Arc::new(Notify::new());
    wish.notify_one();
    tokio::select! {
        served = serving => served.unwrap(),
        () = follow_issuer(issuer.clone(), memory(&issuer, Some(folder.path())), wish, Arc::clone(&authenticator)) => {}
    }
    assert!(authenticator.revision() > before);
    assert!(remembered(&issuer, Some(folder.path())).is_some());
}

#[tokio::test]
async fn keys_that_nobody_misses_are_fetched_again_when_they_are_old() {
    let folder = tempfile::tempdir().unwrap();
    let (issuer, serving) = issuer(vec![answer("200 OK", SET), answer("200 OK", SET)]).await;
    let memory = memory(&issuer, Some(folder.path()));
    let following = tokio::spawn(follow_issuer(issuer.clone(), memory, Arc::default(), authenticator()));
    while remembered(&issuer, Some(folder.path())).is_none() {
        tokio::task::yield_now().await;
    }
    let passes = async |time: Duration| {
        tokio::time::pause();
        tokio::time::advance(time).await;
        // Connections take the time of the machine.
        tokio::time::resume();
    };
    passes(USUAL_AGE / 2).await;
    assert!(!serving.is_finished());
    passes(USUAL_AGE / 2 + Duration::from_secs(1)).await;
    serving.await.unwrap();
    following.abort();
}

#[tokio::test(start_paused = true)]
async fn a_key_works_soon_and_stops_working_soon() {
    let folder = tempfile::tempdir().unwrap();
    let file = KeyFile::at(folder.path().join("keys.json"));
    let authenticator = authenticator();
    let following = tokio::spawn(follow_file(file.clone(), Arc::clone(&authenticator)));
    let (key, record) = file.create(NewKey { caller: "anna".into(), ..NewKey::default() }, 1).unwrap();
    let presented = Presented { api_key: Some(key.reveal().as_bytes()), ..Presented::default() };
    let becomes = async |expected: bool| {
        // The time is not the machine's: it goes on when nothing else is to do.
        for _ in 0..100 {
            if authenticator.authenticate(&presented, 2).is_ok() == expected {
                return true;
            }
            tokio::time::sleep(LOOK).await;
        }
        false
    };
    assert!(becomes(true).await, "the new key");
    file.revoke(&record.id, 2).unwrap();
    assert!(becomes(false).await, "the revoked key");
    following.abort();
}
