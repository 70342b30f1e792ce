use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use proptest::prelude::*;

use super::*;

const HEAD: &str = "---\nname: s\ndescription: d\n---\n";

fn write(folder: &Path, path: &str, text: impl AsRef<[u8]>) {
    let file = folder.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

fn read(folder: &Path, limits: &Limits) -> Library {
    scan(&[folder.to_path_buf()], limits, None)
}

fn uris(library: &Library) -> Vec<&str> {
    library.files().map(|file| &*file.uri).collect()
}

fn reasons(library: &Library) -> String {
    library.refused().iter().map(|refused| format!("{refused}\n")).collect()
}

#[test]
fn files_belong_to_the_skill_they_are_in() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a/s/SKILL.md", HEAD);
    write(folder.path(), "a/s/inner/s/SKILL.md", HEAD);
    write(folder.path(), "a/README.md", "not a skill's");
    write(folder.path(), "a/s/.git/config", "hidden");
    write(folder.path(), "s/SKILL.md", HEAD);
    write(folder.path(), "s/deep/er/file.txt", "side");
    let library = read(folder.path(), &Limits::default());
    let expected = [
        "skill://a/s/SKILL.md",
        "skill://a/s/inner/s/SKILL.md",
        "skill://general/s/SKILL.md",
        "skill://general/s/deep/er/file.txt",
    ];
    assert_eq!(uris(&library), expected);
    let skills: Vec<(&str, usize)> =
        library.skills().map(|skill| (skill.path.as_str(), skill.files.len())).collect();
    assert_eq!(skills, [("a/s", 2), ("a/s/inner/s", 1), ("general/s", 2)]);
    assert_eq!(reasons(&library), "");
}

#[test]
fn links_lead_nowhere_outside() {
    let outside = tempfile::tempdir().unwrap();
    write(outside.path(), "secret.md", "secret");
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a/s/SKILL.md", HEAD);
    write(folder.path(), "a/s/real.md", "inside");
    write(folder.path(), ".env", "secret");
    let skill = folder.path().join("a/s");
    symlink(outside.path().join("secret.md"), skill.join("out.md")).unwrap();
    symlink("../../../../../../etc/passwd", skill.join("up.md")).unwrap();
    symlink("../../.env", skill.join("hidden.md")).unwrap();
    symlink(outside.path(), skill.join("folder")).unwrap();
    symlink("real.md", skill.join("inside.md")).unwrap();
    symlink(".", skill.join("loop")).unwrap();
    let library = read(folder.path(), &Limits::default());
    assert_eq!(uris(&library), ["skill://a/s/SKILL.md", "skill://a/s/inside.md", "skill://a/s/real.md"]);
    let reasons = reasons(&library);
    for expected in [
        "out.md: it is a link that leads out",
        "up.md: it",
        "hidden.md: it",
        "folder: a link",
        "loop: a link",
    ] {
        assert!(reasons.contains(expected), "{expected} in {reasons}");
    }
}

#[test]
fn what_is_too_much_is_left_out_and_said() {
    let check = |limits: Limits, expected_files: usize, expected: &str| {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "a/s/SKILL.md", HEAD);
        write(folder.path(), "a/s/1.md", "x".repeat(100));
        write(folder.path(), "a/s/2.md", "x".repeat(50));
        write(folder.path(), "b/s/SKILL.md", HEAD);
        write(folder.path(), "b/s/c/d/e.md", "x");
        let library = read(folder.path(), &limits);
        let reasons = reasons(&library);
        assert_eq!(uris(&library).len(), expected_files, "{reasons}");
        assert!(reasons.contains(expected), "{expected} in {reasons}");
    };
    check(Limits::default(), 5, "");
    check(Limits { file_bytes: 60, ..Limits::default() }, 4, "it has 100 bytes");
    check(Limits { files_per_skill: 2, ..Limits::default() }, 4, "more than 2 files");
    check(Limits { skill_bytes: 140, ..Limits::default() }, 4, "its skill has more than 140 bytes");
    check(Limits { total_bytes: 212, ..Limits::default() }, 4, "all skills together");
    check(Limits { depth: 2, ..Limits::default() }, 4, "nested deeper than 2");
    check(Limits { skills: 1, ..Limits::default() }, 3, "more than 1 skills");
    check(Limits { entries: 6, ..Limits::default() }, 3, "more than 6 files");
}

#[test]
fn files_that_are_not_what_they_seem_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a/s/SKILL.md", HEAD);
    write(folder.path(), "a/s/bad.md", b"\xff\xfe");
    write(folder.path(), "a/s/logo.png", b"\x89PNG\xff");
    write(folder.path(), "a/binary/SKILL.md", b"\xff\xfe");
    write(folder.path(), "SKILL.md", HEAD);
    let library = read(folder.path(), &Limits::default());
    assert_eq!(uris(&library), ["skill://a/s/SKILL.md", "skill://a/s/logo.png"]);
    assert_eq!(library.skills().len(), 1);
    let reasons = reasons(&library);
    assert!(reasons.contains("bad.md: by its name it is text"), "{reasons}");
    assert!(reasons.contains("needs a folder of its own"), "{reasons}");
    let gone = read(&folder.path().join("nowhere"), &Limits::default());
    assert!(gone.refused().len() == 1 && gone.files().len() == 0);
}

#[test]
fn a_broken_head_makes_a_plain_document() {
    let folder = tempfile::tempdir().unwrap();
    let broken = "---\nname: [\n---\n# Title\ntext";
    write(folder.path(), "a/s/SKILL.md", broken);
    let library = read(folder.path(), &Limits::default());
    let skill = library.skill("skill://a/s").unwrap();
    assert_eq!((skill.name.as_str(), skill.description.as_str()), ("s", "Title"));
    assert_eq!(skill.document().unwrap().text(), Some(broken));
    assert!(skill.entry().is_none());
    assert!(reasons(&library).contains("served as a plain document: its frontmatter cannot be read"));
}

#[test]
fn the_first_of_two_folders_wins() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(first.path(), "a/s/SKILL.md", HEAD);
    write(second.path(), "a/s/SKILL.md", format!("{HEAD}second"));
    write(second.path(), "a/s/side.md", "second");
    write(second.path(), "a/t/SKILL.md", "plain");
    let folders = [first.path().to_path_buf(), second.path().to_path_buf()];
    let library = scan(&folders, &Limits::default(), None);
    assert_eq!(uris(&library), ["skill://a/s/SKILL.md", "skill://a/t/SKILL.md"]);
    assert_eq!(library.files().next().unwrap().text(), Some(HEAD));
    assert!(reasons(&library).contains("the skill 'a/s' is served from"));
}

#[test]
fn what_looks_the_same_is_not_read_again() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a/s/SKILL.md", HEAD);
    write(folder.path(), "a/s/new.md", "new");
    let long_ago = SystemTime::now() - Duration::from_secs(60);
    let document = folder.path().join("a/s/SKILL.md");
    fs::File::options().write(true).open(&document).unwrap().set_modified(long_ago).unwrap();
    let folders = [folder.path().to_path_buf()];
    let before = scan(&folders, &Limits::default(), None);
    let after = scan(&folders, &Limits::default(), Some(&before));
    let same: Vec<bool> = before.files().zip(after.files()).map(|(a, b)| Arc::ptr_eq(a, b)).collect();
    assert_eq!(same, [true, false], "one that was just written could change unseen");
    write(folder.path(), "a/s/SKILL.md", HEAD.replace("description: d", "description: e"));
    assert_eq!(scan(&folders, &Limits::default(), Some(&before)).since(&before).changed.len(), 1);
}

proptest! {
    /// The seventh property: what is read is what is on the disk, byte for byte.
    #[test]
    fn content_is_exact_and_uris_lead_back(
        files in proptest::collection::btree_map("[a-zäß% +&-]{1,8}", proptest::collection::vec(any::<u8>(), 0..200), 0..5),
        category in "[a-z交 ]{1,6}",
    ) {
        let folder = tempfile::tempdir().unwrap();
        let skill = format!("{category}/s");
        write(folder.path(), &format!("{skill}/SKILL.md"), HEAD);
        for (name, content) in &files {
            write(folder.path(), &format!("{skill}/{name}.bin"), content);
        }
        let library = read(folder.path(), &Limits::default());
        prop_assert_eq!(library.files().len(), files.len() + 1);
        for file in library.files() {
            let on_disk = fs::read(folder.path().join(file.path.as_str())).unwrap();
            prop_assert_eq!(&*file.content, &*on_disk);
            let found = library.at(&file.uri);
            prop_assert!(matches!(found, Ok(crate::library::Place::File(found)) if found.digest == file.digest));
        }
    }

    #[test]
    fn no_uri_reads_what_is_outside(path in "([a-c]|\\.\\.|\\.|%2e%2e|%2f|etc|passwd|secret|/){0,12}") {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "secret", "secret");
        write(folder.path(), "inside/a/b/SKILL.md", "plain");
        let library = read(&folder.path().join("inside"), &Limits::default());
        if let Ok(crate::library::Place::File(file)) = library.at(&format!("skill://{path}")) {
            prop_assert_eq!(file.text(), Some("plain"));
        }
    }
}
