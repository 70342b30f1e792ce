use super::*;

const NOW: u64 = 1_800_000_000;

fn new_key(caller: &str, expires: Option<u64>) -> NewKey {
    NewKey { caller: caller.to_owned(), groups: vec!["b".to_owned(), "a".to_owned()], expires }
}

#[test]
fn a_key_lives_from_making_to_revoking() {
    let directory = tempfile::tempdir().unwrap();
    let file = KeyFile::at(directory.path().join("keys.json"));
    assert!(file.load().unwrap().is_empty(), "a missing file has no keys");

    let (key, record) = file.create(new_key("anna", None), NOW).unwrap();
    let (other, _) = file.create(new_key("bert", Some(NOW + 60)), NOW).unwrap();
    let keys = file.load().unwrap();
    let anna = keys.look_up(key.reveal().as_bytes(), NOW).unwrap();
    assert_eq!((&*anna.id, anna.how), ("anna", How::ApiKey(record.id.as_str().into())));
    assert_eq!(anna.groups.iter().map(|group| &**group).collect::<Vec<_>>(), ["a", "b"]);
    assert!(keys.has_caller("anna") && !keys.has_caller("carl"));

    assert_eq!(keys.look_up(other.reveal().as_bytes(), NOW + 59).unwrap().valid_until, Some(NOW + 60));
    assert_eq!(keys.look_up(other.reveal().as_bytes(), NOW + 60), Err(Reason::ExpiredKey));
    assert_eq!(keys.look_up(b"tg_wrong", NOW), Err(Reason::UnknownKey));
    assert_eq!(
        keys.look_up(record.sha256.as_bytes(), NOW),
        Err(Reason::UnknownKey),
        "the hash is not the key"
    );

    assert_eq!(file.revoke(&record.id, NOW + 5).unwrap().revoked, Some(NOW + 5));
    assert_eq!(file.revoke(&record.id, NOW + 9).unwrap().revoked, Some(NOW + 5));
    assert_eq!(file.load().unwrap().look_up(key.reveal().as_bytes(), NOW), Err(Reason::RevokedKey));
    assert!(matches!(file.revoke("nothing", NOW), Err(KeyFileError::NoSuchKey(_))));
    assert_eq!(file.list().unwrap().len(), 2);

    let stored = std::fs::read_to_string(file.path()).unwrap();
    assert!(!stored.contains(key.reveal()) && stored.contains(&record.sha256));
}

#[test]
fn bad_names_and_broken_files_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = KeyFile::at(directory.path().join("keys.json"));
    assert!(matches!(file.create(new_key("two words", None), NOW), Err(KeyFileError::BadCaller(_))));
    std::fs::write(file.path(), "[broken").unwrap();
    assert!(matches!(file.load(), Err(KeyFileError::Content { .. })));
    assert!(matches!(file.create(new_key("anna", None), NOW), Err(KeyFileError::Content { .. })));
    assert_eq!(
        std::fs::read_to_string(file.path()).unwrap(),
        "[broken",
        "a broken file is never overwritten"
    );
}

#[cfg(unix)]
#[test]
fn the_file_is_private_and_must_stay_so() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let file = KeyFile::at(directory.path().join("keys.json"));
    file.create(new_key("anna", None), NOW).unwrap();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(file.path()), 0o600);
    std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o622)).unwrap();
    assert!(matches!(file.load(), Err(KeyFileError::Exposed { .. })));
}

#[test]
fn keys_made_at_the_same_time_are_all_kept() {
    let directory = tempfile::tempdir().unwrap();
    let file = KeyFile::at(directory.path().join("keys.json"));
    std::thread::scope(|scope| {
        for number in 0..8 {
            let file = &file;
            scope.spawn(move || {
                for _ in 0..5 {
                    file.create(new_key(&format!("caller-{number}"), None), NOW).unwrap();
                }
            });
        }
    });
    assert_eq!(file.load().unwrap().len(), 40);
}

#[test]
fn records_with_unreadable_hashes_never_match() {
    let record = |sha256: &str| KeyRecord {
        id: "x".into(),
        caller: "anna".into(),
        groups: vec![],
        sha256: sha256.into(),
        last_four: String::new(),
        created: 0,
        expires: None,
        revoked: None,
    };
    let multibyte = "é".repeat(32);
    for sha256 in ["", "zz", &"+f".repeat(32), &multibyte] {
        assert!(Keys::new(&[record(sha256)]).is_empty(), "{sha256}");
    }
    assert_eq!(Keys::new(&[record(&"0f".repeat(32))]).len(), 1);
}
