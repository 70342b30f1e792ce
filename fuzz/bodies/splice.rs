//! Any object with members taken out and put in: still an object, with the other members as they were.

use toolgate_protocol::{Object, Span, Splice};

pub(crate) fn run(input: &[u8]) {
    // The last byte chooses which members go.
    let Some((choice, data)) = input.split_last() else { return };
    let Ok(object) = Object::parse(data) else { return };
    let is_gone = |place: usize| choice >> (place % 8) & 1 == 1;
    let gone = object.places().iter().enumerate().filter(|(place, _)| is_gone(*place));

    let mut splice = Splice::new(data, 0);
    for (_, member) in gone {
        splice.remove_member(member.whole);
    }
    let rest = splice.finish();
    let rest = Object::parse(&rest).unwrap_or_else(|error| panic!("{error}: {}", rest.escape_ascii()));
    let expected =
        object.members().enumerate().filter(|(place, _)| !is_gone(*place)).map(|(_, member)| member);
    assert!(rest.members().eq(expected));

    let begin = data.iter().position(|byte| *byte == b'{').unwrap_or_default();
    let end = data.iter().rposition(|byte| *byte == b'}').unwrap_or_default() + 1;
    let mut splice = Splice::new(data, 16);
    splice.insert_members(Span::new(begin, end), br#""new":[1]"#);
    let grown = splice.finish();
    let grown = Object::parse(&grown).unwrap_or_else(|error| panic!("{error}: {}", grown.escape_ascii()));
    assert_eq!(grown.places().len(), object.places().len() + 1);
    assert!(grown.members().skip(1).eq(object.members()));
}
