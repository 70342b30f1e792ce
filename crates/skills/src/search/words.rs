//! A text cut into words that can be compared.

/// Longer words are cut: they are data, and nobody looks for them.
const MAX_WORD_CHARS: usize = 48;

/// The words of a text in lower case. Scripts without spaces between words give one word for each character, which finds
/// any part of them.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    let pieces = text.split(|char: char| !char.is_alphanumeric()).filter(|piece| !piece.is_empty());
    pieces.flat_map(|piece| {
        let mut words: Vec<String> = Vec::new();
        let mut word = String::new();
        for char in piece.chars() {
            if is_without_spaces(char) {
                words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
                words.push(char.to_string());
            } else if word.chars().count() < MAX_WORD_CHARS {
                word.extend(char.to_lowercase());
            }
        }
        words.extend((!word.is_empty()).then_some(word));
        words
    })
}

/// Kana, Chinese characters and their compatibility forms.
fn is_without_spaces(char: char) -> bool {
    matches!(char, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_into_words() {
        let check =
            |text: &str, expected: &[&str]| assert_eq!(words(text).collect::<Vec<_>>(), expected, "{text}");
        check("Entry-monitor, v2!", &["entry", "monitor", "v2"]);
        check("交易monitor入场", &["交", "易", "monitor", "入", "场"]);
        check("ÄRGER", &["ärger"]);
        check("", &[]);
        assert_eq!(words(&"x".repeat(500)).map(|word| word.len()).collect::<Vec<_>>(), [48]);
    }
}
