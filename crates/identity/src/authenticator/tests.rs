use std::net::Ipv4Addr;

use proptest::prelude::*;

use super::*;
use crate::keys::{KeyFile, NewKey};

const NOW: u64 = 1_800_000_000;

fn with_key(settings: Settings) -> (Authenticator, String) {
    let directory = tempfile::tempdir().unwrap();
    let file = KeyFile::at(directory.path().join("keys.json"));
    let new = NewKey { caller: "anna".into(), groups: vec!["staff".into()], expires: None };
    let (key, _) = file.create(new, NOW).unwrap();
    (Authenticator::new(settings, file.load().unwrap()), key.reveal().to_owned())
}

fn from(address: &str) -> Presented<'static> {
    Presented { peer: Some(address.parse().unwrap()), ..Presented::default() }
}

#[test]
fn keys_are_taken_from_either_header() {
    let known = BTreeMap::from([("anna".to_owned(), vec!["night".to_owned(), "staff".to_owned()])]);
    let (authenticator, key) =
        with_key(Settings { known, anonymous: Anonymous::Deny, ..Settings::default() });
    for prefix in ["Bearer ", "bearer ", "BEARER   "] {
        let authorization = format!("{prefix}{key}");
        let presented = Presented { authorization: Some(authorization.as_bytes()), ..Presented::default() };
        let caller = authenticator.authenticate(&presented, NOW).unwrap();
        assert_eq!(&*caller.id, "anna");
        assert_eq!(caller.groups.iter().map(|group| &**group).collect::<Vec<_>>(), ["night", "staff"]);
    }
    let presented = Presented { api_key: Some(key.as_bytes()), ..Presented::default() };
    assert_eq!(&*authenticator.authenticate(&presented, NOW).unwrap().id, "anna");
}

#[test]
fn wrong_credentials_are_refused_even_where_none_would_do() {
    let settings =
        Settings { anonymous: Anonymous::Allow, trust_client_id_header: true, ..Settings::default() };
    let (authenticator, key) = with_key(settings);
    let shortened = &key[..key.len() - 1];
    let lie = "eyJhbGciOiJub25lIn0.eyJpc3MiOiJ4In0.";
    for (authorization, expected) in [
        (format!("Bearer {shortened}"), Reason::UnknownKey),
        ("Bearer something".to_owned(), Reason::Unrecognised),
        (format!("Bearer {lie}"), Reason::Unrecognised),
        ("Bearer a.b.c".to_owned(), Reason::MalformedToken),
        ("Bearer ".to_owned(), Reason::NotBearer),
        ("Bearer two words".to_owned(), Reason::NotBearer),
        ("Basic YTpi".to_owned(), Reason::NotBearer),
        (String::new(), Reason::NotBearer),
    ] {
        let presented = Presented {
            authorization: Some(authorization.as_bytes()),
            client_id: Some(b"someone"),
            ..from("127.0.0.1")
        };
        let denied = authenticator.authenticate(&presented, NOW).unwrap_err();
        assert_eq!(denied.reason, expected, "{authorization}");
        let told = format!("{denied} {denied:?} {}", denied.challenge(None));
        assert!(!told.contains(shortened) && !told.contains(lie), "{told}");
    }
    let presented = Presented { api_key: Some(b"wrong"), ..from("127.0.0.1") };
    assert_eq!(authenticator.authenticate(&presented, NOW).unwrap_err().reason, Reason::UnknownKey);
}

#[test]
fn callers_without_credentials_are_known_by_name_or_address_where_allowed() {
    let loopback = "127.0.0.1";
    for (anonymous, trust, client_id, peer, expected) in [
        (Anonymous::FromLoopback, false, None, loopback, Ok(("127.0.0.1", How::Address))),
        (Anonymous::FromLoopback, false, None, "::1", Ok(("::1", How::Address))),
        (Anonymous::FromLoopback, false, None, "::ffff:127.0.0.1", Ok(("127.0.0.1", How::Address))),
        (Anonymous::FromLoopback, false, None, "192.0.2.7", Err(Reason::Missing)),
        (Anonymous::Allow, false, None, "192.0.2.7", Ok(("192.0.2.7", How::Address))),
        (Anonymous::Deny, true, Some("desk"), loopback, Err(Reason::Missing)),
        (Anonymous::Allow, false, Some("desk"), loopback, Ok(("127.0.0.1", How::Address))),
        (Anonymous::Allow, true, Some("desk"), loopback, Ok(("desk", How::ClaimedName))),
        (Anonymous::Allow, true, Some("two words"), loopback, Err(Reason::BadClaimedName)),
        (Anonymous::Allow, true, Some(""), loopback, Err(Reason::BadClaimedName)),
        (Anonymous::Allow, true, Some("anna"), loopback, Err(Reason::BadClaimedName)),
    ] {
        let (authenticator, _) =
            with_key(Settings { anonymous, trust_client_id_header: trust, ..Settings::default() });
        let presented = Presented { client_id: client_id.map(str::as_bytes), ..from(peer) };
        let got = authenticator.authenticate(&presented, NOW);
        let got = got.map(|caller| (caller.id.to_string(), caller.how)).map_err(|denied| denied.reason);
        let expected = expected.map(|(id, how)| (id.to_owned(), how));
        assert_eq!(got, expected, "{anonymous:?} {trust} {client_id:?} {peer}");
    }
}

#[test]
fn nobody_can_claim_a_name_that_somebody_proves() {
    let issuers = || vec![IssuerSettings::new("https://issuer.example", "x")];
    for (issuers, claimed, expected) in [
        (Vec::new(), "desk", Some("desk")),
        (issuers(), "desk", Some("claimed:desk")),
        (Vec::new(), "boss", None),
        (issuers(), "boss", None),
        (Vec::new(), "192.0.2.7", None),
        (Vec::new(), "::1", None),
    ] {
        let known = BTreeMap::from([("boss".to_owned(), vec!["admins".to_owned()])]);
        let (anonymous, trust_client_id_header) = (Anonymous::Allow, true);
        let settings = Settings { known, anonymous, trust_client_id_header, issuers };
        let authenticator = Authenticator::new(settings, Keys::default());
        let presented = Presented { client_id: Some(claimed.as_bytes()), ..from("127.0.0.1") };
        let caller = authenticator.authenticate(&presented, NOW).ok();
        assert_eq!(caller.as_ref().map(|caller| &*caller.id), expected, "{claimed}");
        assert!(caller.is_none_or(|caller| caller.groups.is_empty()));
    }
}

#[test]
fn the_revision_changes_with_the_keys() {
    let settings =
        Settings { issuers: vec![IssuerSettings::new("https://issuer.example", "x")], ..Settings::default() };
    let (authenticator, key) = with_key(settings);
    let presented = Presented { api_key: Some(key.as_bytes()), ..Presented::default() };
    assert!(authenticator.authenticate(&presented, NOW).is_ok());
    let before = authenticator.revision();
    authenticator.replace_keys(Keys::default());
    assert!(authenticator.revision() > before);
    assert!(authenticator.authenticate(&presented, NOW).is_err());
    assert!(!authenticator.replace_issuer_keys("https://other.example", Jwks::default()));
    assert!(authenticator.replace_issuer_keys("https://issuer.example", Jwks::default()));
    assert_eq!(authenticator.revision(), before + 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_header_makes_it_panic_or_lets_anyone_in(
        authorization in proptest::collection::vec(any::<u8>(), 0..120),
        api_key in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..60)),
        bearer in any::<bool>(),
    ) {
        let settings = Settings {
            anonymous: Anonymous::Allow,
            issuers: vec![IssuerSettings::new("https://issuer.example", "x")],
            ..Settings::default()
        };
        let authenticator = Authenticator::new(settings, Keys::default());
        let prefixed = [if bearer { &b"Bearer "[..] } else { b"" }, &authorization].concat();
        let presented = Presented {
            authorization: Some(&prefixed),
            api_key: api_key.as_deref(),
            client_id: None,
            peer: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        };
        prop_assert!(authenticator.authenticate(&presented, NOW).is_err());
    }
}
