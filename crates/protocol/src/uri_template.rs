//! Does a URI belong to a resource template?
//!
//! RFC 6570 says how a template becomes a URI, not the way back, and the way back is ambiguous: a value may itself look
//! like the text around it. A matcher that tries one reading after the other can be made to take forever. So a template
//! is compiled once into a small machine whose states are all followed at the same time: one step for each byte.
//!
//! Servers read URIs generously, so this does too: a value may have characters that RFC 6570 would have encoded, and the
//! parameters of a query may stand in any order. A wrong yes costs one question that the server declines.

mod expression;

use expression::Expression;

/// The longest template that is compiled, in bytes.
pub const MAX_TEMPLATE_LENGTH: usize = 4096;
/// How many variables a template may have.
pub const MAX_VARIABLES: usize = 64;

/// A template, ready to be compared with URIs.
#[derive(Clone, Debug)]
pub struct UriTemplate {
    /// What stands before the first expression: nearly every URI that does not match differs here.
    prefix: String,
    steps: Vec<Step>,
}

/// Why text is not a template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {at} of the URI template")]
pub struct InvalidTemplate {
    /// What is wrong, in words.
    pub what: &'static str,
    /// The byte at which it is wrong, counted from 0.
    pub at: usize,
}

/// One step of the machine. The place behind the last step is the end.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Takes this byte.
    Byte(u8),
    /// Takes one byte of a value.
    Value(Value),
    /// Goes on at both places.
    Both(usize, usize),
}

/// Which bytes a value may have.
#[derive(Clone, Copy, Debug)]
enum Value {
    /// All but those that part a URI: `/`, `?`, `#`.
    Segment,
    /// All but those that part a query: `&`, `#`.
    Parameter,
    /// All.
    Anything,
}

impl Value {
    fn has(self, byte: u8) -> bool {
        match self {
            Value::Segment => !matches!(byte, b'/' | b'?' | b'#'),
            Value::Parameter => !matches!(byte, b'&' | b'#'),
            Value::Anything => true,
        }
    }
}

impl UriTemplate {
    /// Compiles a template.
    pub fn parse(template: &str) -> Result<UriTemplate, InvalidTemplate> {
        if template.len() > MAX_TEMPLATE_LENGTH {
            return Err(InvalidTemplate {
                what: "text beyond the longest template",
                at: MAX_TEMPLATE_LENGTH,
            });
        }
        let (prefix, mut rest) = template.split_at(template.find('{').unwrap_or(template.len()));
        refuse_stray_brace(prefix, 0)?;
        let mut steps = Vec::new();
        let mut variables = 0;
        while let Some(inside) = rest.strip_prefix('{') {
            let at = template.len() - inside.len();
            let Some((inside, behind)) = inside.split_once('}') else {
                return Err(InvalidTemplate { what: "an expression without '}'", at: at - 1 });
            };
            let expression = Expression::parse(inside, at)?;
            variables += expression.variables.len();
            if variables > MAX_VARIABLES {
                return Err(InvalidTemplate { what: "a variable too many", at });
            }
            expression.compile(&mut steps);
            let (literal, next) = behind.split_at(behind.find('{').unwrap_or(behind.len()));
            refuse_stray_brace(literal, template.len() - behind.len())?;
            steps.extend(literal.bytes().map(Step::Byte));
            rest = next;
        }
        Ok(UriTemplate { prefix: prefix.to_owned(), steps })
    }

    /// Whether this template can have become `uri`.
    pub fn matches(&self, uri: &str) -> bool {
        let Some(rest) = uri.strip_prefix(self.prefix.as_str()) else { return false };
        let mut now = States::new(self.steps.len());
        let mut next = States::new(self.steps.len());
        now.enter(0, &self.steps);
        for byte in rest.bytes() {
            for at in now.list.drain(..) {
                match self.steps.get(at) {
                    Some(Step::Byte(expected)) if *expected == byte => next.enter(at + 1, &self.steps),
                    Some(Step::Value(value)) if value.has(byte) => next.enter(at + 1, &self.steps),
                    _ => {}
                }
            }
            if next.list.is_empty() {
                return false;
            }
            now.entered.fill(false);
            std::mem::swap(&mut now, &mut next);
        }
        now.list.contains(&self.steps.len())
    }
}

fn refuse_stray_brace(literal: &str, start: usize) -> Result<(), InvalidTemplate> {
    match literal.find('}') {
        Some(at) => Err(InvalidTemplate { what: "'}' without an expression", at: start + at }),
        None => Ok(()),
    }
}

/// The places at which the machine stands, each once.
struct States {
    list: Vec<usize>,
    entered: Vec<bool>,
    pending: Vec<usize>,
}

impl States {
    fn new(steps: usize) -> States {
        States { list: Vec::new(), entered: vec![false; steps + 1], pending: Vec::new() }
    }

    /// Stands at a place, and at all that are reached from it without a byte.
    fn enter(&mut self, at: usize, steps: &[Step]) {
        self.pending.push(at);
        while let Some(at) = self.pending.pop() {
            match self.entered.get_mut(at) {
                Some(entered) if !*entered => *entered = true,
                _ => continue,
            }
            match steps.get(at) {
                Some(Step::Both(one, other)) => self.pending.extend([*one, *other]),
                _ => self.list.push(at),
            }
        }
    }
}

#[cfg(test)]
mod tests;
