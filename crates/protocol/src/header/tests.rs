//! The table of the specification, and the way there and back.

use proptest::prelude::*;

use super::*;

#[test]
fn values_are_written_as_the_specification_shows() {
    let check = |value: &str, header: &str| {
        assert_eq!(encode(value), header);
        assert_eq!(decode(header).as_deref(), Some(value));
    };
    check("us-west1", "us-west1");
    check("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?=");
    check(" padded ", "=?base64?IHBhZGRlZCA=?=");
    check("line1\nline2", "=?base64?bGluZTEKbGluZTI=?=");
    check("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=");
    check("", "");
    check("a b", "a b");
    check("tab\there", "=?base64?dGFiCWhlcmU=?=");
    check("=?base64?", "=?base64?");
    check("\u{7f}", "=?base64?fw==?=");
}

#[test]
fn headers_are_read_or_refused() {
    let check = |header: &str, value: Option<&str>| assert_eq!(decode(header).as_deref(), value, "{header}");
    check("=?BASE64?YQ==?=", Some("=?BASE64?YQ==?="));
    check("=?base64??=", Some(""));
    check("=?base64?=", Some("=?base64?="));
    check("=?base64?YQ?=", None);
    check("=?base64?***?=", None);
    check("=?base64?/w==?=", None);
    check("é", None);
    check("a\r\nb", None);
    check("a\tb", Some("a\tb"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn what_is_written_is_read_again(value in prop_oneof![any::<String>(), "=\\?base64\\?[a-z]{0,4}\\?=", "[ -~]{0,20}"]) {
        let header = encode(&value).into_owned();
        prop_assert!(header.bytes().all(|byte| matches!(byte, b' '..=b'~')));
        prop_assert_eq!(header.trim(), header.as_str());
        prop_assert_eq!(decode(&header), Some(Cow::Borrowed(value.as_str())));
    }

    #[test]
    fn any_header_is_read_or_refused(header in any::<String>()) {
        if let Some(value) = decode(&header) {
            let again = encode(&value);
            prop_assert_eq!(decode(&again), Some(Cow::Borrowed(&*value)));
        }
    }
}
