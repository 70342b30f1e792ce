//! Conditions in CEL, compiled once at load and evaluated on the facts of one request.
//!
//! Two things are decided here so that nothing can go wrong later: a name that does not exist is found at load and not at the
//! first call, and every condition knows which facts it needs, so that arguments are only decoded for those that look at them.

mod names;
mod shape;

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use std::thread;

use cel::{Context, Env, Program, Value};
use jiff::Timestamp;
use thiserror::Error;

use crate::subject::Subject;
use crate::{ArgumentProblem, unambiguous};

/// The longest condition that is accepted, in bytes.
const MAX_CONDITION_BYTES: usize = 4096;

/// How deep brackets and choices may be nested. The generated parser needs up to 100 KB of stack for each level, and a stack that
/// overflows ends the whole process.
const MAX_NESTING: usize = 24;

/// The stack on which conditions are parsed: several times what [`MAX_NESTING`] levels need.
const PARSER_STACK_BYTES: usize = 16 * 1024 * 1024;

/// How deep the tree of operations may be, for the same reason: evaluation follows it on the stack of the call.
const MAX_TREE_DEPTH: usize = 64;

/// The standard functions of CEL; building them takes longer than most evaluations.
static STANDARD_LIBRARY: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(Env::stdlib()));

/// A condition that cannot be read.
#[derive(Debug, Error)]
pub(crate) enum ConditionError {
    /// Too long.
    #[error("the condition has {0} bytes, at most {MAX_CONDITION_BYTES} are accepted")]
    TooLong(usize),
    /// Too deep.
    #[error("the condition is nested too deeply; split it into several rules")]
    TooDeep,
    /// Not CEL.
    #[error("the condition is not valid CEL: {0}")]
    Syntax(String),
    /// A name that nothing defines.
    #[error(
        "the condition uses `{0}`, which does not exist; there are `caller.id`, `caller.groups`, `server`, `tool`, `arguments` and `now`"
    )]
    UnknownName(String),
}

/// Why a condition gave no answer for a request.
#[derive(Debug, Error)]
#[error("the condition could not be evaluated: {0}")]
pub(crate) struct Undecided(String);

/// A compiled condition.
#[derive(Debug)]
pub(crate) struct Condition {
    program: Program,
    needs_caller: bool,
    needs_arguments: bool,
    needs_now: bool,
}

/// What conditions may look at.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    caller: &'a str,
    groups: &'a [Arc<str>],
    subject: Subject<'a>,
    arguments: Option<&'a [u8]>,
    now: Timestamp,
    decoded: OnceCell<Result<Value, ArgumentProblem>>,
}

impl Condition {
    /// Compiles a condition and checks every name in it.
    pub(crate) fn compile(source: &str) -> Result<Condition, ConditionError> {
        if source.len() > MAX_CONDITION_BYTES {
            return Err(ConditionError::TooLong(source.len()));
        }
        if shape::nesting(source) > MAX_NESTING {
            return Err(ConditionError::TooDeep);
        }
        let program = parse(source)?;
        if let Some(unknown) = names::first_unknown(&program) {
            return Err(ConditionError::UnknownName(unknown));
        }
        let references = program.references();
        let (needs_caller, needs_arguments, needs_now) = (
            references.has_variable("caller"),
            references.has_variable("arguments"),
            references.has_variable("now"),
        );
        Ok(Condition { program, needs_caller, needs_arguments, needs_now })
    }

    /// Whether the answer can differ between callers.
    pub(crate) fn needs_caller(&self) -> bool {
        self.needs_caller
    }

    /// Whether the answer is known only when a call is made: it depends on the arguments or on the time.
    pub(crate) fn is_open_until_called(&self) -> bool {
        self.needs_arguments || self.needs_now
    }

    /// Evaluates the condition. An error of any kind is [`Undecided`]; the rule then takes the safe side.
    pub(crate) fn holds(&self, facts: &Facts<'_>) -> Result<bool, Undecided> {
        let mut context = Context::with_env(Arc::clone(&STANDARD_LIBRARY));
        context.add_variable_from_value("server", facts.subject.server);
        context.add_variable_from_value("tool", facts.subject.name);
        if self.needs_caller {
            context.add_variable_from_value("caller", facts.caller_value());
        }
        if self.needs_now {
            context.add_variable_from_value("now", facts.now_value()?);
        }
        if self.needs_arguments {
            context.add_variable_from_value("arguments", facts.arguments_value()?);
        }
        match self.program.execute(&context) {
            Ok(Value::Bool(answer)) => Ok(answer),
            Ok(other) => Err(Undecided(format!("its result is a {}, not true or false", other.type_of()))),
            // The error of the evaluator may quote values of the call; only its shape may be told.
            Err(problem) => Err(Undecided(shape_of(&problem))),
        }
    }
}

impl<'a> Facts<'a> {
    pub(crate) fn new(
        caller: &'a str,
        groups: &'a [Arc<str>],
        subject: Subject<'a>,
        arguments: Option<&'a [u8]>,
        now: Timestamp,
    ) -> Facts<'a> {
        Facts { caller, groups, subject, arguments, now, decoded: OnceCell::new() }
    }

    pub(crate) fn subject(&self) -> &Subject<'a> {
        &self.subject
    }

    fn caller_value(&self) -> Value {
        let groups: Vec<Value> = self.groups.iter().map(|group| Value::from(&**group)).collect();
        let members: HashMap<&str, Value> =
            HashMap::from([("id", Value::from(self.caller)), ("groups", Value::from(groups))]);
        Value::from(members)
    }

    fn now_value(&self) -> Result<Value, Undecided> {
        chrono::DateTime::from_timestamp(self.now.as_second(), self.now.subsec_nanosecond().unsigned_abs())
            .map(|instant| Value::Timestamp(instant.fixed_offset()))
            .ok_or_else(|| Undecided("the clock is beyond what timestamps can hold".to_owned()))
    }

    /// The arguments, decoded at most once for a request. A call without arguments has an empty object.
    fn arguments_value(&self) -> Result<Value, Undecided> {
        let decode = || match self.arguments {
            None => Ok(Value::from(HashMap::<String, Value>::new())),
            Some(bytes) => unambiguous(bytes).map(from_json),
        };
        self.decoded.get_or_init(decode).clone().map_err(|problem| Undecided(problem.for_record()))
    }

    /// Why a condition that looked at the arguments could not read them.
    pub(crate) fn unreadable_arguments(&self) -> Option<&ArgumentProblem> {
        self.decoded.get()?.as_ref().err()
    }
}

/// Parses on a stack of its own, which also keeps a panic of the generated parser to itself. Happens at load only.
fn parse(source: &str) -> Result<Program, ConditionError> {
    let parsed = thread::scope(|scope| {
        let parser =
            thread::Builder::new().name("condition-parser".to_owned()).stack_size(PARSER_STACK_BYTES);
        parser.spawn_scoped(scope, || parse_bounded(source)).map(|running| running.join())
    });
    match parsed {
        Ok(Ok(parsed)) => parsed,
        Ok(Err(_)) => Err(ConditionError::Syntax("the parser gave up on it".to_owned())),
        Err(problem) => Err(ConditionError::Syntax(format!("there was no thread to parse it on: {problem}"))),
    }
}

/// A tree that is too deep must not leave the large stack: even dropping it takes one step down for each level.
fn parse_bounded(source: &str) -> Result<Program, ConditionError> {
    let program =
        STANDARD_LIBRARY.compile(source).map_err(|problem| ConditionError::Syntax(problem.to_string()))?;
    if shape::tree_depth(program.expression()) > MAX_TREE_DEPTH {
        return Err(ConditionError::TooDeep);
    }
    Ok(program)
}

/// Numbers without a fraction become `int` where they fit, so that `arguments.count + 1` works; the crate's own conversion makes
/// them `uint`, which CEL does not mix with literals.
fn from_json(json: serde_json::Value) -> Value {
    match json {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(truth) => Value::Bool(truth),
        serde_json::Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(integer), _, _) => Value::Int(integer),
            (None, Some(large), _) => Value::UInt(large),
            (None, None, float) => float.map_or(Value::Null, Value::Float),
        },
        serde_json::Value::String(text) => Value::from(text),
        serde_json::Value::Array(items) => Value::from(items.into_iter().map(from_json).collect::<Vec<_>>()),
        serde_json::Value::Object(members) => {
            let members: HashMap<String, Value> =
                members.into_iter().map(|(name, value)| (name, from_json(value))).collect();
            Value::from(members)
        }
    }
}

fn shape_of(problem: &cel::ExecutionError) -> String {
    match problem {
        cel::ExecutionError::NoSuchKey(name) => format!("there is no `{name}`"),
        cel::ExecutionError::UndeclaredReference(name) => format!("`{name}` does not exist"),
        cel::ExecutionError::NoSuchOverload(_)
        | cel::ExecutionError::UnexpectedType { .. }
        | cel::ExecutionError::ValuesNotComparable(..)
        | cel::ExecutionError::UnsupportedBinaryOperator(..) => {
            "the types of its values do not go together".to_owned()
        }
        _ => "an operation in it failed".to_owned(),
    }
}

#[cfg(test)]
mod tests;
