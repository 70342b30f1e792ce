use std::time::Duration;

use super::*;

/// How long a change may take to be noticed on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

fn watched(folder: &Path, name: &str) -> (PathBuf, LoadedFiles) {
    let path = folder.join(name);
    fs::write(&path, "before").unwrap();
    (path.clone(), LoadedFiles { files: vec![path], folders: Vec::new() })
}

async fn notices(watch: &mut Watch) -> bool {
    timeout(PATIENCE, watch.changed()).await.is_ok()
}

/// Changes something while the watch waits. The system must tell: by itself it would look later.
async fn told(watch: &mut Watch, what: &str, change: impl FnOnce()) {
    let (told, ()) = tokio::join!(timeout(LOOK / 2, watch.changed()), async { change() });
    assert!(told.is_ok(), "{what}");
    watch.note();
}

#[tokio::test]
async fn a_file_that_is_written_into_has_changed() {
    let folder = tempfile::tempdir().unwrap();
    let (path, files) = watched(folder.path(), "toolgate.yaml");
    let mut watch = Watch::over(&files, None, "", true);
    told(&mut watch, "before", || fs::write(&path, "after it").unwrap()).await;
    fs::write(&path, "after that").unwrap();
    assert!(notices(&mut watch).await);
}

#[tokio::test]
async fn a_file_that_is_replaced_again_and_again_has_changed_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let (path, files) = watched(folder.path(), "toolgate.yaml");
    let mut watch = Watch::over(&files, None, "", true);
    for round in 0..3 {
        let new = folder.path().join("new");
        fs::write(&new, format!("round {round}")).unwrap();
        fs::rename(&new, &path).unwrap();
        assert!(notices(&mut watch).await, "round {round}");
        watch.note();
    }
}

#[tokio::test]
async fn a_new_file_in_a_watched_folder_is_a_change() {
    let folder = tempfile::tempdir().unwrap();
    let files = LoadedFiles { files: Vec::new(), folders: vec![folder.path().to_path_buf()] };
    let mut watch = Watch::over(&files, None, "", true);
    fs::write(folder.path().join("server.toml"), "").unwrap();
    assert!(notices(&mut watch).await);
}

#[tokio::test]
async fn without_help_of_the_system_changes_are_noticed_too() {
    let folder = tempfile::tempdir().unwrap();
    let (path, files) = watched(folder.path(), "toolgate.yaml");
    let mut watch = Watch::over(&files, None, "", true);
    watch.watcher = None;
    fs::write(&path, "after it").unwrap();
    assert!(notices(&mut watch).await);
}

#[tokio::test]
async fn a_link_that_leads_elsewhere_is_a_change() {
    let folder = tempfile::tempdir().unwrap();
    let (first, _) = watched(folder.path(), "first");
    let (second, _) = watched(folder.path(), "second");
    let link = folder.path().join("toolgate.yaml");
    std::os::unix::fs::symlink(&first, &link).unwrap();
    let mut watch =
        Watch::over(&LoadedFiles { files: vec![link.clone()], folders: Vec::new() }, None, "", true);
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(&second, &link).unwrap();
    assert!(notices(&mut watch).await);
}

#[test]
fn other_files_beside_it_are_no_change() {
    let folder = tempfile::tempdir().unwrap();
    let (_, files) = watched(folder.path(), "toolgate.yaml");
    let before = sights(&files, "");
    fs::write(folder.path().join("journal"), "x").unwrap();
    assert_eq!(sights(&files, ""), before);
}

#[test]
fn in_folders_only_files_with_the_ending_count() {
    let folder = tempfile::tempdir().unwrap();
    let files = LoadedFiles { files: Vec::new(), folders: vec![folder.path().to_path_buf()] };
    let mut before = sights(&files, ".py");
    let mut check = |name: &str, counts: bool| {
        fs::write(folder.path().join(name), "").unwrap();
        let now = sights(&files, ".py");
        assert_eq!(now != before, counts, "{name}");
        before = now;
    };
    check("tools.py", true);
    check("notes.txt", false);
    check("more.py", true);
}

#[tokio::test]
async fn a_wait_that_is_given_up_loses_no_change() {
    let folder = tempfile::tempdir().unwrap();
    let (path, files) = watched(folder.path(), "toolgate.yaml");
    let mut watch = Watch::over(&files, None, "", true);
    fs::write(&path, "after it").unwrap();
    // Whoever waits for two things drops the other wait, in the quiet after the change at the latest.
    assert!(timeout(QUIET / 2, watch.changed()).await.is_err());
    assert!(notices(&mut watch).await);
}

#[tokio::test]
async fn a_folder_that_takes_the_place_of_another_is_watched() {
    let folder = tempfile::tempdir().unwrap();
    let (records, new) = (folder.path().join("servers.d"), folder.path().join("new"));
    let files = LoadedFiles { files: Vec::new(), folders: vec![records.clone()] };
    fs::create_dir(&records).unwrap();
    fs::write(records.join("a.toml"), "a").unwrap();
    let mut watch = Watch::over(&files, None, "", true);
    let write = |name: &str, text: &str| fs::write(records.join(name), text).unwrap();
    fs::create_dir(&new).unwrap();
    fs::write(new.join("a.toml"), "another").unwrap();
    told(&mut watch, "the new folder", || {
        fs::rename(&records, folder.path().join("old")).unwrap();
        fs::rename(&new, &records).unwrap();
    })
    .await;
    told(&mut watch, "a file in the new folder", || write("a.toml", "a third")).await;
    told(&mut watch, "no folder", || fs::remove_dir_all(&records).unwrap()).await;
    told(&mut watch, "a folder again", || {
        fs::create_dir(&records).unwrap();
        write("a.toml", "a fourth");
    })
    .await;
    told(&mut watch, "a file in it", || write("b.toml", "")).await;
}

#[tokio::test]
async fn what_was_written_while_a_new_file_was_read_is_a_change() {
    let folder = tempfile::tempdir().unwrap();
    let (path, files) = watched(folder.path(), "toolgate.yaml");
    let mut watch = Watch::over(&LoadedFiles::default(), None, "", true);
    let began = SystemTime::now();
    fs::write(&path, "after it was read").unwrap();
    watch.look_at(&files, Some(began));
    assert!(notices(&mut watch).await);
    watch.note();
    let (_, more) = watched(folder.path(), "more.yaml");
    watch.look_at(&more, Some(SystemTime::now() + Duration::from_secs(1)));
    assert!(!watch.is_different());
}
