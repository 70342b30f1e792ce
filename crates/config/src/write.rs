//! Native YAML out of a tree: for `import`, `init` and `servers add`.
//!
//! Text is left without quotes only where no YAML reader, old or new, could take it for something else; everything
//! doubtful (`on`, `1.0`, `0x1f`, dates) is quoted.

pub mod edit;

use crate::node::yaml::plain_scalar;
use crate::node::{Entry, Node, Value};

/// A list is written on one line when the line stays shorter than this.
const LINE: usize = 100;

/// Writes a tree as a YAML document, top-level sections apart from each other.
pub fn to_yaml(tree: &Node) -> String {
    let mut out = String::new();
    for (index, entry) in tree.entries().iter().enumerate() {
        if index > 0 && holds_lines(&entry.node) {
            out.push('\n');
        }
        write_entry(&mut out, entry, 0);
    }
    if tree.entries().is_empty() {
        out.push_str("{}\n");
    }
    out
}

/// One server record as lines below `servers:`, indented by `indent` spaces.
pub(crate) fn record_lines(name: &str, record: &Node, indent: usize) -> String {
    let mut out = String::new();
    let entry = Entry { key: name.to_owned(), origin: record.origin.clone(), node: record.clone() };
    write_entry(&mut out, &entry, indent);
    out
}

fn write_entry(out: &mut String, entry: &Entry, indent: usize) {
    pad(out, indent);
    write_key(out, &entry.key);
    write_below(out, &entry.node, indent);
}

/// Writes what follows `key:`, or `-` with the value on lines of its own.
fn write_below(out: &mut String, node: &Node, indent: usize) {
    match &node.value {
        Value::Mapping(entries) if !entries.is_empty() => {
            out.push('\n');
            entries.iter().for_each(|entry| write_entry(out, entry, indent + 2));
        }
        Value::Sequence(items) if !items.is_empty() => match one_line(items, indent) {
            Some(line) => {
                out.push(' ');
                out.push_str(&line);
                out.push('\n');
            }
            None => {
                out.push('\n');
                items.iter().for_each(|item| write_item(out, item, indent + 2));
            }
        },
        _ => {
            out.push(' ');
            out.push_str(&scalar(node, false));
            out.push('\n');
        }
    }
}

fn write_item(out: &mut String, item: &Node, indent: usize) {
    pad(out, indent);
    out.push('-');
    match &item.value {
        Value::Mapping(entries) if !entries.is_empty() => {
            // The first key stands beside the dash, the others below it.
            for (index, entry) in entries.iter().enumerate() {
                if index == 0 {
                    out.push(' ')
                } else {
                    pad(out, indent + 2)
                }
                write_key(out, &entry.key);
                write_below(out, &entry.node, indent + 2);
            }
        }
        _ => write_below(out, item, indent),
    }
}

fn write_key(out: &mut String, key: &str) {
    let simple = is_plain(key, true) && !key.contains(':');
    if simple {
        out.push_str(key)
    } else {
        out.push_str(&quoted(key))
    }
    out.push(':');
}

fn one_line(items: &[Node], indent: usize) -> Option<String> {
    let scalars = items.iter().all(|item| !matches!(item.value, Value::Mapping(_) | Value::Sequence(_)));
    let line = format!("[{}]", items.iter().map(|item| scalar(item, true)).collect::<Vec<_>>().join(", "));
    (scalars && line.len() + indent < LINE).then_some(line)
}

fn scalar(node: &Node, in_list: bool) -> String {
    match &node.value {
        Value::Null => "null".to_owned(),
        Value::Boolean(value) => value.to_string(),
        Value::Number(text) => text.clone(),
        Value::Text(text) if is_plain(text, in_list) => text.clone(),
        Value::Text(text) => quoted(text),
        Value::Sequence(_) => "[]".to_owned(),
        Value::Mapping(_) => "{}".to_owned(),
    }
}

fn is_plain(text: &str, in_list: bool) -> bool {
    const SWITCHES: [&str; 8] = ["yes", "no", "on", "off", "y", "n", "null", "~"];
    let begins = text.starts_with(|first: char| first.is_ascii_alphabetic() || "/_$".contains(first));
    let fine =
        |c: char| c.is_ascii_alphanumeric() || "_-./@+=~$:".contains(c) || !in_list && "{} ".contains(c);
    begins
        && text.chars().all(fine)
        && !text.ends_with([':', ' '])
        && !text.contains(": ")
        && !SWITCHES.contains(&text.to_ascii_lowercase().as_str())
        && matches!(plain_scalar(text), Value::Text(_))
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if must_escape(c) => out.push_str(&format!("\\U{:08x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Characters YAML does not allow as they are, or that readers treat as ends of lines.
fn must_escape(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

fn holds_lines(node: &Node) -> bool {
    match &node.value {
        Value::Mapping(entries) => !entries.is_empty(),
        Value::Sequence(items) => one_line(items, 0).is_none(),
        _ => false,
    }
}

fn pad(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}
