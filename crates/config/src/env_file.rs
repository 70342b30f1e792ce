//! Files of `NAME=value` lines, as VS Code's `envFile` and many other programs read them.

use crate::reference::is_variable_name;

/// The variables of a file, in its order; or the number of a line that is none, counted from one.
///
/// `export` before a name is passed over, as are empty lines and comments. A value may stand in quotes: in double ones
/// `\n`, `\"` and `\\` are understood, in single ones nothing is.
pub(crate) fn parse(text: &str) -> Result<Vec<(String, String)>, usize> {
    let mut variables = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, written) = line.split_once('=').ok_or(at + 1)?;
        let name = name.trim_end();
        let value = value(written.trim()).filter(|_| is_variable_name(name)).ok_or(at + 1)?;
        variables.push((name.to_owned(), value));
    }
    Ok(variables)
}

/// A value without its quotes and the comment behind it; nothing where a quote is not closed.
fn value(written: &str) -> Option<String> {
    if let Some(rest) = written.strip_prefix('\'') {
        return rest.split_once('\'').map(|(inside, _)| inside.to_owned());
    }
    let Some(rest) = written.strip_prefix('"') else {
        let end = written.find(" #").unwrap_or(written.len());
        return written.get(..end).map(|value| value.trim_end().to_owned());
    };
    let mut inside = String::new();
    let mut characters = rest.chars();
    loop {
        match characters.next()? {
            '"' => return Some(inside),
            '\\' => match characters.next()? {
                'n' => inside.push('\n'),
                plain @ ('"' | '\\') => inside.push(plain),
                other => inside.extend(['\\', other]),
            },
            plain => inside.push(plain),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_variables() {
        let check = |line: &str, expected: &str| {
            assert_eq!(parse(line), Ok(vec![("NAME".to_owned(), expected.to_owned())]), "{line}");
        };
        check("NAME=value", "value");
        check("# first\n\n  export NAME = value with words  # not this\n", "value with words");
        check("NAME=a#b=c", "a#b=c");
        check("NAME=", "");
        check(r#"NAME="two\nlines \"and\" C:\\x \d" # no"#, "two\nlines \"and\" C:\\x \\d");
        check(r"NAME='as \n it # is'", r"as \n it # is");
    }

    #[test]
    fn what_is_no_variable_is_told_by_its_line() {
        for (text, line) in [("A=1\nnothing\n", 2), ("1A=x", 1), ("A=\"open", 1), ("A=1\n\n=x", 3)] {
            assert_eq!(parse(text), Err(line), "{text}");
        }
    }
}
