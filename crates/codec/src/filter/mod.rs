//! SQL92 expressions over the properties of a message (wire 10.2).
//!
//! [`SqlExpression`] reads what Apache's brokers read and evaluates as they do, so that an expression can be tried before
//! any broker sees it, and so that the embedded broker filters like Apache's. Three values are told apart: a message
//! matches only where the expression is *true*; *false*, *null* (something is missing) and an error (a text that is not
//! a number) all mean that it does not.
//!
//! | file | decides |
//! |---|---|
//! | `lex` | where a token begins and ends |
//! | `parse` | which operands an operator takes, and the checks that need no message |
//! | `eval` | what is true for one message |
//! | `print` | nothing; writes an expression with all its parentheses |
//!
//! Two surprises of the language are kept, because brokers have them: `NOT` binds tighter than a comparison, and text
//! after a complete expression is ignored; [`SqlExpression::ignored`] says where that begins.
//!
//! Departures: an expression may have at most [`MAX_BYTES`] bytes and [`MAX_DEPTH`] levels, where Apache's parser
//! overflows its stack at some depth of its own; numbers in properties are ASCII and decimal, where Java also takes
//! digits of other scripts and hexadecimal floating point.

mod eval;
mod lex;
mod number;
mod parse;
mod print;
mod tree;

use alloc::boxed::Box;
use core::fmt;

pub use eval::EvalError;

use self::parse::Parser;
use self::tree::Node;

/// The type of an expression over properties on the wire (`expressionType`).
pub const SQL92: &str = "SQL92";
/// The type of a tag expression on the wire.
pub const TAG: &str = "TAG";
/// Most bytes in an expression.
pub const MAX_BYTES: usize = 64 * 1024;
/// Most levels in an expression: parentheses, signs and operators within each other.
pub const MAX_DEPTH: usize = 128;

/// Whether the type of an expression on the wire means tags: `TAG`, nothing or no type at all.
#[must_use]
pub fn is_tag_type(kind: Option<&str>) -> bool {
    matches!(kind, None | Some("" | TAG))
}

/// A compiled SQL92 expression.
#[derive(Clone, Debug)]
pub struct SqlExpression {
    text: Box<str>,
    root: Node,
    ignored: Option<usize>,
}

impl SqlExpression {
    /// Compiles an expression such as `price > 5 AND region IN ('eu', 'us')`.
    ///
    /// # Errors
    ///
    /// [`SqlError`] with the position and the reason. A broker refuses the same expressions, apart from those that are
    /// too long or too deep.
    pub fn parse(text: &str) -> Result<Self, SqlError> {
        let (root, ignored) = Parser::parse(text)?;
        Ok(Self { text: text.into(), root, ignored })
    }

    /// The text that was compiled, which a broker is told.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Where text begins that is not part of the expression and that brokers ignore, in bytes. `a LIKE 'x'` is just `a`.
    #[must_use]
    pub const fn ignored(&self) -> Option<usize> {
        self.ignored
    }

    /// Evaluates for a message; `property` looks up the value of a property by its name.
    ///
    /// `None` is *null*: a property that matters is missing.
    ///
    /// # Errors
    ///
    /// [`EvalError`] when values cannot be compared. A broker counts that as no match.
    pub fn evaluate<'a>(&'a self, property: impl Fn(&str) -> Option<&'a str>) -> Result<Option<bool>, EvalError> {
        eval::evaluate(&self.root, &property)
    }

    /// Whether a message matches: the expression is true for it, not null and no error.
    #[must_use]
    pub fn matches<'a>(&'a self, property: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.evaluate(property) == Ok(Some(true))
    }
}

/// Expressions are equal when they mean the same tree, however they are written.
impl PartialEq for SqlExpression {
    fn eq(&self, other: &Self) -> bool {
        self.root == other.root
    }
}

/// No number of an expression is NaN.
impl Eq for SqlExpression {}

/// The expression with every operand in parentheses; [`SqlExpression::as_str`] is what was written.
impl fmt::Display for SqlExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.root.fmt(f)
    }
}

/// Why an expression does not compile, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SqlError {
    /// Where it was noticed, in bytes from the beginning.
    pub position: usize,
    /// What is wrong there.
    pub reason: SqlErrorKind,
}

/// What is wrong with an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SqlErrorKind {
    /// There is nothing but white space and comments.
    Empty,
    /// A character that begins no token, or a text without its closing quote.
    Character(char),
    /// Something else was expected.
    Expected(&'static str),
    /// An integer beyond 64 bits.
    IntegerRange,
    /// A floating-point number beyond 64 bits, or too small; Apache counts 0.0 as too small.
    FloatRange,
    /// The literal NULL in a comparison; `IS NULL` is meant.
    NullCompared,
    /// A text, TRUE, FALSE, NULL or a condition where only numbers have an order.
    NoOrder,
    /// BETWEEN with its larger bound first.
    Bounds,
    /// IN after something else than the name of a property.
    InNeedsProperty,
    /// A number or a text where a condition is needed.
    NotBoolean,
    /// More than [`MAX_DEPTH`] levels.
    TooDeep,
    /// More than [`MAX_BYTES`] bytes.
    TooLong,
}

impl fmt::Display for SqlErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the expression is empty"),
            Self::Character('\'') => f.write_str("the text has no closing quote"),
            Self::Character(character) => write!(f, "unexpected character {character:?}"),
            Self::Expected(what) => write!(f, "{what} expected"),
            Self::IntegerRange => f.write_str("the integer does not fit 64 bits"),
            Self::FloatRange => f.write_str("the floating-point number is out of range; write 0 for zero"),
            Self::NullCompared => f.write_str("NULL cannot be compared; use IS NULL or IS NOT NULL"),
            Self::NoOrder => f.write_str("only numbers and properties can be compared by order"),
            Self::Bounds => f.write_str("the lower bound of BETWEEN is above the upper bound"),
            Self::InNeedsProperty => f.write_str("IN needs the name of a property on its left"),
            Self::NotBoolean => f.write_str("a condition is needed here, not a value"),
            Self::TooDeep => write!(f, "the expression has more than {MAX_DEPTH} levels"),
            Self::TooLong => write!(f, "the expression has more than {MAX_BYTES} bytes"),
        }
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at position {}: {}", self.position, self.reason)
    }
}

impl core::error::Error for SqlError {}
