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

#[tokio::test]
async fn a_file_that_is_written_into_has_changed() {
    let folder = tempfile::tempdir().unwrap();
    let (path, files) = watched(folder.path(), "toolgate.yaml");
    let mut watch = Watch::over(&files, "", true);
    fs::write(&path, "after it").unwrap();
    assert!(notices(&mut watch).await);
}

#[tokio::test]
async fn a_file_that_is_replaced_again_and_again_has_changed_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let (path, files) = watched(folder.path(), "toolgate.yaml");
    let mut watch = Watch::over(&files, "", true);
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
    let mut watch = Watch::over(&files, "", true);
    fs::write(folder.path().join("server.toml"), "").unwrap();
    assert!(notices(&mut watch).await);
}

#[tokio::test]
async fn without_help_of_the_system_changes_are_noticed_too() {
    let folder = tempfile::tempdir().unwrap();
    let (path, files) = watched(folder.path(), "toolgate.yaml");
    let mut watch = Watch::over(&files, "", true);
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
    let mut watch = Watch::over(&LoadedFiles { files: vec![link.clone()], folders: Vec::new() }, "", true);
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
