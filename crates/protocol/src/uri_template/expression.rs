//! One `{…}` of a template: how it is written, and which steps recognise what it becomes.

use super::{InvalidTemplate, Step, Value};

/// What stands between two braces.
pub(super) struct Expression<'a> {
    operator: Operator,
    pub(super) variables: Vec<Variable<'a>>,
}

/// One variable of an expression. How many characters of it are taken (`:3`) is not looked at.
pub(super) struct Variable<'a> {
    name: &'a str,
    /// With `*`: a list or map, each of its entries written as a value of its own.
    exploded: bool,
}

enum Operator {
    /// `{a}`: one segment of a path.
    Simple,
    /// `{+a}`: anything.
    Reserved,
    /// `{#a}`: anything behind `#`.
    Fragment,
    /// `{.a}` and `{/a}`: each value behind this byte.
    Each(u8),
    /// `{?a}`, `{&a}` and `{;a}`: `name=value`, the first behind the first byte, others behind the second.
    Named(u8, u8),
}

impl<'a> Expression<'a> {
    /// Reads what stands between the braces; `at` is where that begins.
    pub(super) fn parse(inside: &'a str, at: usize) -> Result<Expression<'a>, InvalidTemplate> {
        let mut behind = inside.chars();
        let (operator, names) = match behind.next() {
            Some('+') => (Operator::Reserved, behind.as_str()),
            Some('#') => (Operator::Fragment, behind.as_str()),
            Some('.') => (Operator::Each(b'.'), behind.as_str()),
            Some('/') => (Operator::Each(b'/'), behind.as_str()),
            Some('?') => (Operator::Named(b'?', b'&'), behind.as_str()),
            Some('&') => (Operator::Named(b'&', b'&'), behind.as_str()),
            Some(';') => (Operator::Named(b';', b';'), behind.as_str()),
            Some('=' | ',' | '!' | '@' | '|') => {
                return Err(InvalidTemplate { what: "an operator that RFC 6570 keeps for later", at });
            }
            _ => (Operator::Simple, inside),
        };
        let variable = |text| Variable::parse(text).ok_or(InvalidTemplate { what: "no variable name", at });
        let variables = names.split(',').map(variable).collect::<Result<_, _>>()?;
        Ok(Expression { operator, variables })
    }

    /// Adds the steps that recognise what the expression becomes. A variable may be undefined, so an operator's part may
    /// be absent; a bare value may not, else `users/{id}` would take `users/`.
    pub(super) fn compile(&self, steps: &mut Vec<Step>) {
        match self.operator {
            Operator::Simple => some(steps, Value::Segment),
            Operator::Reserved => some(steps, Value::Anything),
            Operator::Fragment => optional(steps, |steps| {
                steps.push(Step::Byte(b'#'));
                any(steps, |steps| steps.push(Step::Value(Value::Anything)));
            }),
            Operator::Each(separator) => {
                for variable in &self.variables {
                    let one = |steps: &mut Vec<Step>| {
                        steps.push(Step::Byte(separator));
                        some(steps, Value::Segment);
                    };
                    if variable.exploded { any(steps, one) } else { optional(steps, one) }
                }
            }
            Operator::Named(first, other) if first == other => any(steps, |steps| {
                steps.push(Step::Byte(first));
                self.compile_parameter(steps);
            }),
            Operator::Named(first, other) => optional(steps, |steps| {
                steps.push(Step::Byte(first));
                self.compile_parameter(steps);
                any(steps, |steps| {
                    steps.push(Step::Byte(other));
                    self.compile_parameter(steps);
                });
            }),
        }
    }

    /// One of the parameters, whichever. The entries of a map that is exploded have names of their own.
    fn compile_parameter(&self, steps: &mut Vec<Step>) {
        if self.variables.iter().any(|variable| variable.exploded) {
            return some(steps, Value::Parameter);
        }
        let mut ends = Vec::new();
        for (place, variable) in self.variables.iter().enumerate() {
            let fork = steps.len();
            let is_last = place + 1 == self.variables.len();
            if !is_last {
                steps.push(Step::Both(fork + 1, fork + 1));
            }
            steps.extend(variable.name.bytes().map(Step::Byte));
            optional(steps, |steps| {
                steps.push(Step::Byte(b'='));
                any(steps, |steps| steps.push(Step::Value(Value::Parameter)));
            });
            if !is_last {
                ends.push(steps.len());
                steps.push(Step::Both(0, 0));
                let next = steps.len();
                steps[fork] = Step::Both(fork + 1, next);
            }
        }
        let end = steps.len();
        for place in ends {
            steps[place] = Step::Both(end, end);
        }
    }
}

impl<'a> Variable<'a> {
    fn parse(text: &'a str) -> Option<Variable<'a>> {
        let (text, exploded) = text.strip_suffix('*').map_or((text, false), |text| (text, true));
        let name = match text.split_once(':') {
            Some((name, length)) if !exploded && length.parse::<u16>().is_ok() => name,
            Some(_) => return None,
            None => text,
        };
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'%' | b'-');
        (!name.is_empty() && name.bytes().all(allowed)).then_some(Variable { name, exploded })
    }
}

/// What `inner` recognises, or nothing.
fn optional(steps: &mut Vec<Step>, inner: impl FnOnce(&mut Vec<Step>)) {
    let fork = steps.len();
    steps.push(Step::Both(fork + 1, fork + 1));
    inner(steps);
    steps[fork] = Step::Both(fork + 1, steps.len());
}

/// What `inner` recognises, any number of times.
fn any(steps: &mut Vec<Step>, inner: impl FnOnce(&mut Vec<Step>)) {
    let fork = steps.len();
    optional(steps, |steps| {
        inner(steps);
        steps.push(Step::Both(fork, fork));
    });
}

/// At least one byte of a value.
fn some(steps: &mut Vec<Step>, value: Value) {
    let begin = steps.len();
    steps.push(Step::Value(value));
    steps.push(Step::Both(begin, begin + 2));
}
