//! What the fuzz targets state, for their seeds and for what comes of changing them. So a target that no longer builds, or
//! states what does not hold, is seen without a nightly compiler.

#[path = "../../../fuzz/bodies/header.rs"]
mod header;
#[path = "../../../fuzz/bodies/message.rs"]
mod message;
#[path = "../../../fuzz/bodies/splice.rs"]
mod splice;

use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

/// A change of a seed: where, how many bytes go, and what stands there instead.
type Change = (Index, usize, Vec<u8>);

#[expect(clippy::unwrap_used, reason = "a test without its seeds has failed")]
fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let mut files: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "no seeds of '{target}'");
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

fn changed(seeds: &[Vec<u8>], seed: Index, changes: &[Change]) -> Vec<u8> {
    let mut bytes = seed.get(seeds).clone();
    for (at, length, new) in changes {
        let at = at.index(bytes.len() + 1);
        let end = (at + length).min(bytes.len());
        bytes.splice(at..end, new.iter().copied());
    }
    bytes
}

/// Bytes, and what JSON is made of.
fn new() -> impl Strategy<Value = Vec<u8>> {
    let words = [
        "\"",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\\",
        "\\u0000",
        "null",
        "1e9",
        "1.5",
        "\u{e9}",
        "\"id\":1,",
        " ",
    ];
    let words = proptest::sample::select(words.to_vec()).prop_map(|word| word.as_bytes().to_vec());
    prop_oneof![words, vec(any::<u8>(), 0..4)]
}

fn check(target: &str, run: fn(&[u8])) {
    let seeds = seeds(target);
    seeds.iter().for_each(|seed| run(seed));
    proptest!(ProptestConfig::with_cases(2000), |(
        seed in any::<Index>(),
        changes in vec((any::<Index>(), 0_usize..6, new()), 0..4),
    )| run(&changed(&seeds, seed, &changes)));
}

#[test]
fn messages() {
    check("message", message::run);
}

#[test]
fn splices() {
    check("splice", splice::run);
}

#[test]
fn headers() {
    check("header", header::run);
}
