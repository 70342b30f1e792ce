//! Finds names in a condition that nothing defines. The crate reports every identifier, those that macros such as `exists`
//! bind included, so these are collected first.

use std::collections::HashSet;

use cel::Program;
use cel::common::ast::{Expr, IdedExpr};

use super::shape::parts_of;

/// The facts of a request.
const FACTS: [&str; 5] = ["caller", "server", "tool", "arguments", "now"];

/// Identifiers that are part of the language: its types, used as in `type(x) == int`, and the place of its optional values.
const LANGUAGE: [&str; 12] = [
    "bool",
    "bytes",
    "double",
    "duration",
    "dyn",
    "int",
    "list",
    "map",
    "null_type",
    "string",
    "timestamp",
    "uint",
];

/// The first name (in order of the alphabet) that is neither a fact, nor part of the language, nor bound by a macro.
pub(super) fn first_unknown(program: &Program) -> Option<String> {
    let mut bound = HashSet::new();
    collect_bound(program.expression(), &mut bound);
    program
        .references()
        .variables()
        .into_iter()
        .filter(|name| !FACTS.contains(name) && !LANGUAGE.contains(name) && !bound.contains(name))
        .min()
        .map(str::to_owned)
}

/// Recursion is bounded by the depth that was checked before.
fn collect_bound<'program>(expression: &'program IdedExpr, bound: &mut HashSet<&'program str>) {
    if let Expr::Comprehension(comprehension) = &expression.expr {
        bound.extend([comprehension.iter_var.as_str(), comprehension.accu_var.as_str()]);
        bound.extend(comprehension.iter_var2.as_deref());
    }
    for part in parts_of(expression) {
        collect_bound(part, bound);
    }
}
