use std::os::unix::fs::PermissionsExt as _;

use proptest::prelude::*;
use tempfile::TempDir;
use toolgate_governance::Kind;

use super::*;

const ROOMY: Limits = Limits { max_bytes: 1 << 20, max_count: 100, keep_for: Duration::from_secs(60) };

struct Scene {
    state: TempDir,
    seal: Seal,
    results: Results,
}

fn scene(limits: Limits) -> Scene {
    let state = tempfile::tempdir().unwrap();
    let results = Results::under(Some(state.path()), limits);
    Scene { state, seal: Seal::new(&[7; 32]).unwrap(), results }
}

impl Scene {
    fn keep(&self, content: &str) -> Result<Arc<Kept>, KeepError> {
        let whole = Whole { content: content.to_owned(), media: "text/plain" };
        self.results.keep(&self.seal, &"anna".into(), &tool(), &whole)
    }

    /// The files of all results, without the lock.
    fn files(&self) -> Vec<PathBuf> {
        let folder = self.state.path().join("results/0");
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|path| path.file_name().unwrap() != "lock").collect()
    }
}

fn tool() -> Target {
    Target {
        kind: Kind::Tool,
        server: "shop".into(),
        exposed: "shop__long".into(),
        native: "long".into(),
        declared_price: None,
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_result_is_there_for_its_owner_and_for_nobody_else() {
    let scene = scene(ROOMY);
    let kept = scene.keep("all of it").unwrap();
    let id = kept.uri().strip_prefix(SCHEME).unwrap().to_owned();
    assert_eq!(id.len(), 32);
    assert!(scene.results.find(&id, "anna").is_some());
    assert!(scene.results.find(&id, "ben").is_none());
    assert!(scene.results.find("0", "anna").is_none());
    assert_eq!(mode(&scene.files()[0]), 0o600);
    assert_eq!(mode(&scene.state.path().join("results/0")), 0o700);
}

#[test]
fn the_oldest_make_room_in_number_and_in_bytes() {
    let check = |limits: Limits, sizes: &[usize], left: &[usize]| {
        let scene = scene(limits);
        let ids: Vec<_> =
            sizes.iter().map(|size| scene.keep(&"x".repeat(*size)).unwrap().id.clone()).collect();
        let found = ids.iter().filter_map(|id| scene.results.find(id, "anna"));
        assert_eq!(found.map(|kept| kept.size() as usize).collect::<Vec<_>>(), left);
        assert_eq!(scene.files().len(), left.len());
    };
    check(Limits { max_count: 2, ..ROOMY }, &[1, 2, 3], &[2, 3]);
    check(Limits { max_bytes: 10, ..ROOMY }, &[4, 5, 6], &[6]);
    check(Limits { max_bytes: 10, ..ROOMY }, &[4, 5, 1, 1], &[5, 1, 1]);
    let tight = scene(Limits { max_bytes: 10, ..ROOMY });
    assert!(matches!(tight.keep("more than ten"), Err(KeepError::TooLarge { size: 13, limit: 10 })));
    let none = Results::under(None, ROOMY);
    let whole = Whole { content: String::new(), media: "text/plain" };
    assert!(matches!(none.keep(&tight.seal, &"a".into(), &tool(), &whole), Err(KeepError::NoFolder)));
}

#[test]
fn what_is_over_is_deleted_and_so_is_what_a_dead_process_left() {
    let scene = scene(Limits { keep_for: Duration::ZERO, ..ROOMY });
    let id = scene.keep("short-lived").unwrap().id.clone();
    assert!(scene.results.find(&id, "anna").is_none());
    assert_eq!(scene.files().len(), 1);
    scene.results.sweep();
    assert_eq!((scene.files().len(), scene.results.lock().bytes), (0, 0));

    let left = scene.state.path().join("results/0/left-behind");
    fs::write(&left, "by a process that was killed").unwrap();
    let second = Results::under(Some(scene.state.path()), ROOMY);
    assert!(left.exists(), "the folder of a living process is left alone");
    assert!(second.folder.as_ref().unwrap().path().ends_with("results/1"));
    drop((scene.results, second));
    Results::under(Some(scene.state.path()), ROOMY);
    assert!(!left.exists());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn parts_put_together_are_the_whole(content in "\\PC{0,200}", length in 4_u64..20) {
        let scene = scene(ROOMY);
        let kept = scene.keep(&content).unwrap();
        let mut read = String::new();
        let mut offset = 0;
        while offset < kept.size() {
            let part = kept.read(Range { offset, length }).unwrap();
            prop_assert_eq!(part.offset, offset);
            prop_assert!(part.end > offset && part.text.len() as u64 <= length);
            read.push_str(&part.text);
            offset = part.end;
        }
        prop_assert_eq!(read, content);
    }

    #[test]
    fn any_offset_gives_whole_characters(content in "\\PC{1,50}", offset in 0_u64..200, length in 4_u64..20) {
        let scene = scene(ROOMY);
        let kept = scene.keep(&content).unwrap();
        let offset = offset.min(kept.size());
        let part = kept.read(Range { offset, length }).unwrap();
        let (from, to) = (part.offset as usize, part.end as usize);
        prop_assert_eq!(&content[from..to], part.text);
    }
}
