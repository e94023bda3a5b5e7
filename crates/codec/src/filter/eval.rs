//! What an expression says of one message, as Apache's evaluation does, errors included.

use core::cmp::Ordering;
use core::fmt;

use super::number;
use super::tree::{Node, Order, Search};

/// Values that cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EvalError {
    /// A property or text that is compared with a number is none.
    NotANumber,
    /// A condition stands on the left of a text; Apache compares the two only the other way round.
    BooleanBeforeText,
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotANumber => "a text that is compared with a number is none",
            Self::BooleanBeforeText => "a condition cannot be compared with a text on its right",
        })
    }
}

impl core::error::Error for EvalError {}

/// A value of a node; *null* is the absence of one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Value<'a> {
    Bool(bool),
    Int(i32),
    Long(i64),
    Double(f64),
    Text(&'a str),
}

type Evaluated = Result<Option<bool>, EvalError>;

/// Looks up a property of the message.
type Lookup<'f, 'a> = &'f dyn Fn(&str) -> Option<&'a str>;

/// Evaluates a whole expression.
pub(super) fn evaluate<'a>(root: &'a Node, property: Lookup<'_, 'a>) -> Evaluated {
    condition(root, property)
}

/// A node where a condition is needed. A property is true only if it is a boolean value, and properties never are.
fn condition<'a>(node: &'a Node, property: Lookup<'_, 'a>) -> Evaluated {
    Ok(match value(node, property)? {
        Some(Value::Bool(value)) => Some(value),
        Some(_) => Some(false),
        None => None,
    })
}

fn value<'a>(node: &'a Node, property: Lookup<'_, 'a>) -> Result<Option<Value<'a>>, EvalError> {
    let truth = match node {
        Node::Null => None,
        Node::Bool(value) => Some(*value),
        Node::Integer(value) => return Ok(Some(i32::try_from(*value).map_or(Value::Long(*value), Value::Int))),
        Node::Float(value) => return Ok(Some(Value::Double(*value))),
        Node::Text(text) => return Ok(Some(Value::Text(text))),
        Node::Property(name) => return Ok(property(name).map(Value::Text)),
        Node::Negate(of) => return Ok(value(of, property)?.and_then(negated)),
        Node::Not(of) => condition(of, property)?.map(|value| !value),
        Node::And(nodes) => all_or_any(nodes, property, false)?,
        Node::Or(nodes) => all_or_any(nodes, property, true)?,
        Node::Equal { is_negated, left, right } => {
            equal(value(left, property)?, value(right, property)?)?.map(|value| value != *is_negated)
        }
        Node::IsNull { is_negated, of } => Some(value(of, property)?.is_none() != *is_negated),
        Node::Ordered { by, left, right } => ordered(*by, value(left, property)?, value(right, property)?)?,
        Node::Between { is_negated, of, low, high } => between(*is_negated, [of, low, high], property)?,
        Node::In { is_negated, property: name, list } => {
            property(name).map(|value| list.iter().any(|text| **text == *value) != *is_negated)
        }
        Node::Search { is_negated, how, of, text } => {
            Some(search(*how, value(of, property)?, text).is_some_and(|value| value != *is_negated))
        }
    };
    Ok(truth.map(Value::Bool))
}

/// AND and OR: the first operand that decides ends it, `decides` being false for AND and true for OR.
fn all_or_any<'a>(nodes: &'a [Node], property: Lookup<'_, 'a>, decides: bool) -> Evaluated {
    let mut result = Some(!decides);
    for node in nodes {
        match condition(node, property)? {
            Some(value) if value == decides => return Ok(Some(decides)),
            Some(_) => {}
            None => result = None,
        }
    }
    Ok(result)
}

fn negated(value: Value<'_>) -> Option<Value<'_>> {
    match value {
        Value::Int(value) => Some(Value::Int(value.wrapping_neg())),
        Value::Long(value) => Some(Value::Long(value.wrapping_neg())),
        Value::Double(value) => Some(Value::Double(-value)),
        Value::Bool(_) | Value::Text(_) => None,
    }
}

fn equal(left: Option<Value<'_>>, right: Option<Value<'_>>) -> Evaluated {
    Ok(match (left, right) {
        (None, None) => Some(true),
        (None, Some(_)) => None,
        (Some(_), None) => Some(false),
        (Some(left), Some(right)) => Some(compare(left, right)? == Ordering::Equal),
    })
}

fn ordered(by: Order, left: Option<Value<'_>>, right: Option<Value<'_>>) -> Evaluated {
    let (Some(left), Some(right)) = (left, right) else { return Ok(None) };
    let order = match (left, right) {
        // Two texts are compared as numbers here.
        (Value::Text(left), Value::Text(right)) => number::compare(double(left)?, double(right)?),
        _ => compare(left, right)?,
    };
    Ok(Some(match by {
        Order::Less => order.is_lt(),
        Order::LessEqual => order.is_le(),
        Order::Greater => order.is_gt(),
        Order::GreaterEqual => order.is_ge(),
    }))
}

/// BETWEEN is two comparisons joined by AND, NOT BETWEEN two joined by OR.
fn between<'a>(is_negated: bool, [of, low, high]: [&'a Node; 3], property: Lookup<'_, 'a>) -> Evaluated {
    let (by_low, by_high) =
        if is_negated { (Order::Less, Order::Greater) } else { (Order::GreaterEqual, Order::LessEqual) };
    let first = ordered(by_low, value(of, property)?, value(low, property)?)?;
    if first == Some(is_negated) {
        return Ok(first);
    }
    let second = ordered(by_high, value(of, property)?, value(high, property)?)?;
    Ok(match (first, second) {
        (_, Some(value)) if value == is_negated => second,
        (None, _) | (_, None) => None,
        _ => Some(!is_negated),
    })
}

/// Nothing when there is nothing to search in or for: the negated forms are false then too.
fn search(how: Search, of: Option<Value<'_>>, text: &str) -> Option<bool> {
    let Some(Value::Text(of)) = of else { return None };
    if text.is_empty() {
        return None;
    }
    Some(match how {
        Search::Contains => of.contains(text),
        Search::StartsWith => of.starts_with(text),
        Search::EndsWith => of.ends_with(text),
    })
}

/// The order of two values; the text of two different kinds is read as the other's kind, and the smaller number widens.
fn compare(left: Value<'_>, right: Value<'_>) -> Result<Ordering, EvalError> {
    Ok(match (left, right) {
        (Value::Text(left), Value::Text(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(&right),
        (Value::Bool(_), Value::Text(_)) => return Err(EvalError::BooleanBeforeText),
        (Value::Text(left), Value::Bool(right)) => left.eq_ignore_ascii_case("true").cmp(&right),
        // Java's conversion gives up and says "less".
        (Value::Bool(_), _) | (_, Value::Bool(_)) => Ordering::Less,
        (Value::Text(left), right) => compare(number_like(right, left)?, right)?,
        (left, Value::Text(right)) => compare(left, number_like(left, right)?)?,
        (Value::Double(_), _) | (_, Value::Double(_)) => number::compare(as_double(left), as_double(right)),
        (left, right) => as_long(left).cmp(&as_long(right)),
    })
}

/// A text as a number of the kind that `other` is.
fn number_like<'a>(other: Value<'_>, text: &str) -> Result<Value<'a>, EvalError> {
    let number = match other {
        Value::Int(_) => number::integer(text).map(Value::Int),
        Value::Long(_) => number::integer(text).map(Value::Long),
        Value::Double(_) | Value::Bool(_) | Value::Text(_) => number::double(text).map(Value::Double),
    };
    number.ok_or(EvalError::NotANumber)
}

fn double(text: &str) -> Result<f64, EvalError> {
    number::double(text).ok_or(EvalError::NotANumber)
}

const fn as_long(value: Value<'_>) -> i64 {
    match value {
        Value::Int(value) => value as i64,
        Value::Long(value) => value,
        Value::Bool(_) | Value::Double(_) | Value::Text(_) => 0,
    }
}

#[expect(clippy::cast_precision_loss, reason = "as Java widens")]
const fn as_double(value: Value<'_>) -> f64 {
    match value {
        Value::Int(value) => value as f64,
        Value::Long(value) => value as f64,
        Value::Double(value) => value,
        Value::Bool(_) | Value::Text(_) => 0.0,
    }
}
