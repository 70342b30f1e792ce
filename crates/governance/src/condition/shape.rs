//! How deep a condition goes, before and after it is parsed.

use cel::common::ast::{EntryExpr, Expr, IdedExpr};

/// How deep the parser may have to recurse: open brackets, and choices `a ? b : c`, each of which may stand in the last one. Text in
/// quotes is counted as well, which errs on the safe side.
pub(super) fn nesting(source: &str) -> usize {
    let (mut open, mut deepest, mut choices) = (0_usize, 0, 0);
    for character in source.bytes() {
        match character {
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            b'?' => choices += 1,
            _ => {}
        }
        deepest = deepest.max(open);
    }
    deepest + choices
}

/// How many operations lie on the longest way down the tree. Goes level by level, because the tree may be deep.
pub(super) fn tree_depth(expression: &IdedExpr) -> usize {
    let mut level = vec![expression];
    let mut depth = 0;
    while !level.is_empty() {
        depth += 1;
        level = level.into_iter().flat_map(parts_of).collect();
    }
    depth
}

/// The expressions that an expression is made of.
pub(super) fn parts_of(expression: &IdedExpr) -> Vec<&IdedExpr> {
    match &expression.expr {
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => Vec::new(),
        Expr::Call(call) => call.target.iter().map(|target| &**target).chain(&call.args).collect(),
        Expr::Comprehension(comprehension) => vec![
            &comprehension.iter_range,
            &comprehension.accu_init,
            &comprehension.loop_cond,
            &comprehension.loop_step,
            &comprehension.result,
        ],
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Select(select) => vec![&select.operand],
        Expr::Map(map) => map.entries.iter().flat_map(|entry| parts_of_entry(&entry.expr)).collect(),
        Expr::Struct(fields) => fields.entries.iter().flat_map(|entry| parts_of_entry(&entry.expr)).collect(),
    }
}

fn parts_of_entry(entry: &EntryExpr) -> Vec<&IdedExpr> {
    match entry {
        EntryExpr::StructField(field) => vec![&field.value],
        EntryExpr::MapEntry(pair) => vec![&pair.key, &pair.value],
    }
}
