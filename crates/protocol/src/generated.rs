//! Generated JSON text for the tests of all modules.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// Any JSON value as text: odd spacing, escapes, numbers of every form, keys written twice.
pub(crate) fn any_json() -> BoxedStrategy<String> {
    let leaf =
        prop_oneof![select(vec!["null", "true", "false"]).prop_map(str::to_owned), number(), string(),];
    leaf.prop_recursive(5, 48, 6, |inner| {
        prop_oneof![
            vec((blank(), inner.clone(), blank()), 0..6).prop_map(|elements| {
                let elements: Vec<_> =
                    elements.into_iter().map(|(a, value, b)| format!("{a}{value}{b}")).collect();
                format!("[{}]", elements.join(","))
            }),
            vec((string(), inner), 0..6).prop_flat_map(object),
        ]
    })
    .boxed()
}

/// An object of these members with odd spacing.
pub(crate) fn object(members: Vec<(String, String)>) -> impl Strategy<Value = String> {
    let spaces = vec((blank(), blank(), blank(), blank()), members.len());
    (spaces, blank()).prop_map(move |(spaces, inside)| {
        if members.is_empty() {
            return format!("{{{inside}}}");
        }
        let members: Vec<_> = std::iter::zip(&members, spaces)
            .map(|((key, value), (a, b, c, d))| format!("{a}{key}{b}:{c}{value}{d}"))
            .collect();
        format!("{{{}}}", members.join(","))
    })
}

/// Text that is JSON, or was before something in it was cut, doubled or put in.
pub(crate) fn nearly_json() -> impl Strategy<Value = String> {
    let damage = select(vec![
        "", "", ",", ":", "\"", "\\", "{", "}", "[", "]", "0", "-", ".", "e", "u", "\\u12", "\t", "\n",
        "\u{1}", "é", "t", "null", "\\ud83d", " ",
    ]);
    (any_json(), any::<prop::sample::Index>(), 0_usize..3, damage).prop_map(|(json, at, cut, new)| {
        let mut characters: Vec<char> = json.chars().collect();
        let start = at.index(characters.len() + 1);
        let end = (start + cut).min(characters.len());
        characters.splice(start..end, new.chars());
        characters.into_iter().collect()
    })
}

/// A JSON string with its quotation marks, written with and without escapes.
pub(crate) fn string() -> BoxedStrategy<String> {
    let piece = prop_oneof![
        4 => "[ -!#-\\[\\]-~]{0,12}",
        1 => "[à-ÿ世界😀]{1,3}",
        1 => select(vec![r#"\""#, r"\\", r"\/", r"\n", r"\t", r"\u0041", r"\ud83d\ude00", r"\u0000"])
            .prop_map(str::to_owned),
    ];
    vec(piece, 0..4).prop_map(|pieces| format!("\"{}\"", pieces.concat())).boxed()
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        "-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?",
    ]
}

fn blank() -> impl Strategy<Value = &'static str> {
    prop_oneof![6 => Just(""), 1 => Just(" "), 1 => Just("\n\t"), 1 => Just(" \r ")]
}
