//! What commands print: JSON for programs, tables and colours for people at a terminal, plain lines for pipes.
//!
//! A pipe gets a line for each row with tabs between the cells and no heading, so that `cut` and `awk` work on it; the
//! same rows are aligned below a heading at a terminal.

use std::io::{IsTerminal, Write};

use serde_json::{Value, json};

use crate::failure::Failure;

/// A cell wider than this is cut at a terminal.
const WIDEST_CELL: usize = 72;

/// How this process prints.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    pub(crate) json: bool,
    terminal: bool,
    colour: bool,
}

/// How a cell is painted at a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    Plain,
    Strong,
    Good,
    Doubtful,
    Bad,
}

/// One cell of a table.
#[derive(Debug, Clone)]
pub(crate) struct Cell(pub(crate) String, pub(crate) Paint);

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Cell(text.into(), Paint::Plain)
    }
}

impl Output {
    /// As standard output and the variable `NO_COLOR` want it.
    pub(crate) fn here(json: bool) -> Self {
        let terminal = std::io::stdout().is_terminal();
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { json, terminal, colour: terminal && !refused }
    }

    /// Prints a value as JSON.
    pub(crate) fn value(&self, value: &Value) {
        write_out(&format!("{value:#}\n"));
    }

    /// Prints a line for people.
    pub(crate) fn line(&self, text: &str) {
        write_out(&format!("{text}\n"));
    }

    /// Prints text as it is.
    pub(crate) fn raw(&self, bytes: &[u8]) {
        // A reader that has closed the pipe wants no more, which is no failure of ours.
        let _ = std::io::stdout().write_all(bytes);
    }

    /// Says something beside the result, on standard error.
    pub(crate) fn note(&self, text: &str) {
        let _ = writeln!(std::io::stderr(), "{text}");
    }

    /// Prints rows: aligned below a heading at a terminal, separated by tabs elsewhere.
    pub(crate) fn table(&self, heading: &[&str], rows: &[Vec<Cell>]) {
        if self.terminal {
            write_out(&self.aligned(heading, rows));
            return;
        }
        let lines = rows.iter().map(|row| {
            let cells: Vec<String> = row.iter().map(|cell| one_line(&cell.0)).collect();
            cells.join("\t") + "\n"
        });
        write_out(&lines.collect::<String>());
    }

    /// Text in a colour, where colours are wanted.
    pub(crate) fn painted(&self, text: &str, paint: Paint) -> String {
        let code = match paint {
            Paint::Plain => return text.to_owned(),
            Paint::Strong => "1",
            Paint::Good => "32",
            Paint::Doubtful => "33",
            Paint::Bad => "31",
        };
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// Says on standard error why a command did not do what it was asked.
    pub(crate) fn failure(&self, failure: &Failure) {
        if self.json {
            let help = if failure.help.is_empty() { Value::Null } else { failure.help.as_str().into() };
            let error =
                json!({"error": {"code": failure.kind.word(), "message": failure.message, "help": help}});
            return self.note(&format!("{error:#}"));
        }
        self.note(&format!("error: {failure}"));
        if !failure.help.is_empty() {
            self.note(&format!("help: {}", failure.help));
        }
    }

    fn aligned(&self, heading: &[&str], rows: &[Vec<Cell>]) -> String {
        let shortened: Vec<Vec<Cell>> = rows
            .iter()
            .map(|row| row.iter().map(|cell| Cell(shortened(&one_line(&cell.0)), cell.1)).collect())
            .collect();
        let widths: Vec<usize> = heading
            .iter()
            .enumerate()
            .map(|(column, title)| {
                let cells = shortened.iter().filter_map(|row| row.get(column));
                cells.map(|cell| cell.0.chars().count()).chain([title.len()]).max().unwrap_or(0)
            })
            .collect();
        let heading: Vec<Cell> =
            heading.iter().map(|title| Cell((*title).to_owned(), Paint::Strong)).collect();
        let mut text = String::new();
        for row in std::iter::once(&heading).chain(&shortened) {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                let padding = width.saturating_sub(cell.0.chars().count()) + 2;
                line.push_str(&self.painted(&cell.0, cell.1));
                line.extend(std::iter::repeat_n(' ', padding));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

fn write_out(text: &str) {
    // A reader that has closed the pipe wants no more, which is no failure of ours.
    let _ = std::io::stdout().write_all(text.as_bytes());
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= WIDEST_CELL {
        return text.to_owned();
    }
    text.chars().take(WIDEST_CELL - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_at_a_terminal_is_aligned_and_cut() {
        let output = Output { json: false, terminal: true, colour: false };
        let rows = [vec!["a".into(), "x\ny".into()], vec!["long".into(), "z".repeat(100).into()]];
        let cut = "z".repeat(WIDEST_CELL - 1);
        assert_eq!(
            output.aligned(&["NAME", "TEXT"], &rows),
            format!("NAME  TEXT\na     x y\nlong  {cut}…\n")
        );
    }

    #[test]
    fn colours_appear_only_where_they_are_wanted() {
        let check = |colour: bool, expected: &str| {
            let output = Output { json: false, terminal: true, colour };
            assert_eq!(output.painted("down", Paint::Bad), expected);
        };
        check(true, "\x1b[31mdown\x1b[0m");
        check(false, "down");
    }
}
