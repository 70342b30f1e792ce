use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::catalog::tests::{greeting, listing, tools};

fn memory() -> (tempfile::TempDir, Memory) {
    let directory = tempfile::tempdir().unwrap();
    let memory = Memory::under(directory.path());
    (directory, memory)
}

fn sample(server: &str) -> Arc<Listing> {
    let odd = "{ \"name\":\"odd\",\n \"inputSchema\" : {\"a\":1.0} }";
    listing(server, &[(Kind::Tool, &format!("{},{odd}", tools(&["x"]))), (Kind::Prompt, "")])
}

#[test]
fn what_was_stored_is_loaded_byte_for_byte() {
    let (_directory, memory) = memory();
    let mut stored = Listing::new(Arc::from("s"), Some(greeting(Version::NEWEST, r#"{"tools":{}}"#)), true);
    let page = br#"{"tools":[{"name":"x", "inputSchema":{}}],"ttlMs":7,"cacheScope":"public"}"#;
    stored.add_page(Kind::Tool, &Bytes::from_static(page)).unwrap();
    memory.store(&stored, "c").unwrap();
    let loaded = memory.load(stored.server(), "c").unwrap().unwrap();
    for kind in Kind::ALL {
        let raw = |listing: &Listing| {
            listing.entries(kind).iter().map(|entry| entry.raw().clone()).collect::<Vec<_>>()
        };
        assert_eq!(raw(&loaded), raw(&stored));
        assert_eq!(loaded.freshness(kind), stored.freshness(kind));
    }
    let (before, after) = (stored.greeting().unwrap(), loaded.greeting().unwrap());
    assert_eq!((before.version, &before.capabilities), (after.version, &after.capabilities));
    assert_eq!((&before.server_info, &before.instructions), (&after.server_info, &after.instructions));
    assert!(loaded.over_http());
}

#[test]
fn a_later_listing_takes_the_place_of_the_earlier() {
    let (directory, memory) = memory();
    memory.store(&sample("s"), "c").unwrap();
    memory.store(&listing("s", &[]), "c").unwrap();
    assert!(memory.load(&Arc::from("s"), "c").unwrap().unwrap().entries(Kind::Tool).is_empty());
    let files: Vec<_> = fs::read_dir(directory.path().join("catalog")).unwrap().collect();
    assert_eq!(files.len(), 1);
}

#[test]
fn the_file_is_for_its_owner_alone() {
    let (directory, memory) = memory();
    memory.store(&sample("s"), "c").unwrap();
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(directory.path().join("catalog/s.json")), 0o600);
    assert_eq!(mode(directory.path().join("catalog")), 0o700);
}

#[test]
fn nothing_is_remembered_of_others() {
    let (_directory, memory) = memory();
    assert!(memory.load(&Arc::from("s"), "c").unwrap().is_none());
    memory.store(&sample("s"), "c").unwrap();
    assert!(memory.load(&Arc::from("t"), "c").unwrap().is_none());
    assert!(memory.load(&Arc::from("s"), "changed").unwrap().is_none());
    memory.forget("s").unwrap();
    memory.forget("s").unwrap();
    assert!(memory.load(&Arc::from("s"), "c").unwrap().is_none());
}

#[test]
fn names_of_servers_cannot_lead_elsewhere_or_meet() {
    let (directory, memory) = memory();
    let long = "l".repeat(300);
    let names = ["../up", "a/b", "a%2fb", "a.b", ".", "..", "", "ä", "UP", &long];
    for name in names {
        let tool = format!("tool of {name}");
        memory.store(&listing(name, &[(Kind::Tool, &tools(&[&tool]))]), "c").unwrap();
    }
    for name in names {
        let loaded = memory.load(&Arc::from(name), "c").unwrap().unwrap();
        assert_eq!(**loaded.entries(Kind::Tool)[0].native(), format!("tool of {name}"));
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    assert_eq!(fs::read_dir(directory.path().join("catalog")).unwrap().count(), names.len());
}

#[test]
fn damage_is_noticed_wherever_it_is() {
    let (directory, memory) = memory();
    memory.store(&sample("s"), "c").unwrap();
    let path = directory.path().join("catalog/s.json");
    let whole = fs::read(&path).unwrap();
    let check = |content: &[u8]| {
        fs::write(&path, content).unwrap();
        let result = memory.load(&Arc::from("s"), "c");
        assert!(matches!(result, Err(MemoryError::Damaged { .. })), "{result:?}");
    };
    check(b"");
    for place in (CHECK_HEAD.len()..whole.len()).step_by(7) {
        check(&whole[..place]);
        let mut changed = whole.clone();
        changed[place] ^= 1;
        check(&changed);
    }
}

#[test]
fn an_unusable_directory_is_told() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("catalog"), "a file").unwrap();
    let memory = Memory::under(directory.path());
    assert!(matches!(memory.store(&sample("s"), "c"), Err(MemoryError::Io { .. })));
    assert!(matches!(memory.load(&Arc::from("s"), "c"), Err(MemoryError::Io { .. })));
}
