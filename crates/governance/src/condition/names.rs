//! Finds names in a condition that nothing defines. The crate reports every identifier, those that macros such as `exists`
//! bind included, so these are collected first.

use std::collections::HashSet;

use cel::Program;
use cel::common::ast::{EntryExpr, Expr, IdedExpr};

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

/// Recursion is bounded by the length of the condition.
fn collect_bound<'program>(expression: &'program IdedExpr, bound: &mut HashSet<&'program str>) {
    match &expression.expr {
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => {}
        Expr::Call(call) => {
            for part in call.target.iter().map(|target| &**target).chain(&call.args) {
                collect_bound(part, bound);
            }
        }
        Expr::Comprehension(comprehension) => {
            bound.extend([comprehension.iter_var.as_str(), comprehension.accu_var.as_str()]);
            bound.extend(comprehension.iter_var2.as_deref());
            for part in [
                &comprehension.iter_range,
                &comprehension.accu_init,
                &comprehension.loop_cond,
                &comprehension.loop_step,
                &comprehension.result,
            ] {
                collect_bound(part, bound);
            }
        }
        Expr::List(list) => list.elements.iter().for_each(|element| collect_bound(element, bound)),
        Expr::Select(select) => collect_bound(&select.operand, bound),
        Expr::Map(map) => map.entries.iter().for_each(|entry| collect_in_entry(&entry.expr, bound)),
        Expr::Struct(fields) => fields.entries.iter().for_each(|entry| collect_in_entry(&entry.expr, bound)),
    }
}

fn collect_in_entry<'program>(entry: &'program EntryExpr, bound: &mut HashSet<&'program str>) {
    match entry {
        EntryExpr::StructField(field) => collect_bound(&field.value, bound),
        EntryExpr::MapEntry(pair) => {
            collect_bound(&pair.key, bound);
            collect_bound(&pair.value, bound);
        }
    }
}
