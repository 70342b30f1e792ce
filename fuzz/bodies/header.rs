//! Any text as a header's value, and as a tool's schema with its annotations.

use toolgate_protocol::header::{decode, encode, parameter};

pub(crate) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let header = encode(text);
    assert!(header.bytes().all(|byte| matches!(byte, b' '..=b'~')), "not fit for a header: {header:?}");
    assert_eq!(decode(&header).as_deref(), Some(text));
    let _ = decode(text);

    if let Ok(annotations) = parameter::annotations(data) {
        for annotation in annotations {
            let value = parameter::value(data, &annotation.path);
            let header = value.as_deref().map(encode);
            assert!(parameter::repeats(header.as_deref(), data, &annotation.path));
        }
    }
}
