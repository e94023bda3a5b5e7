//! The tree of a compiled expression.

use alloc::boxed::Box;
use alloc::vec::Vec;

/// A node. Conditions and values share one type, as they share the grammar.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    /// The literal NULL.
    Null,
    /// TRUE or FALSE.
    Bool(bool),
    /// An integer; one that fits 32 bits is compared as such.
    Integer(i64),
    /// A floating-point number, always positive and finite.
    Float(f64),
    /// A text.
    Text(Box<str>),
    /// A property of the message.
    Property(Box<str>),
    /// A negated number.
    Negate(Box<Self>),
    /// NOT.
    Not(Box<Self>),
    /// AND of two or more.
    And(Vec<Self>),
    /// OR of two or more.
    Or(Vec<Self>),
    /// `=`, or `<>` when negated.
    Equal { is_negated: bool, left: Box<Self>, right: Box<Self> },
    /// IS NULL, or IS NOT NULL when negated.
    IsNull { is_negated: bool, of: Box<Self> },
    /// `<` and its like.
    Ordered { by: Order, left: Box<Self>, right: Box<Self> },
    /// BETWEEN, or NOT BETWEEN when negated.
    Between { is_negated: bool, of: Box<Self>, low: Box<Self>, high: Box<Self> },
    /// IN, or NOT IN when negated.
    In { is_negated: bool, property: Box<str>, list: Vec<Box<str>> },
    /// CONTAINS and its like.
    Search { is_negated: bool, how: Search, of: Box<Self>, text: Box<str> },
}

/// A comparison by order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

/// A search in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Search {
    Contains,
    StartsWith,
    EndsWith,
}

impl Node {
    /// Whether its value can only be true, false or null.
    pub(super) const fn is_condition(&self) -> bool {
        match self {
            Self::Integer(_) | Self::Float(_) | Self::Text(_) | Self::Property(_) | Self::Negate(_) => false,
            Self::Null
            | Self::Bool(_)
            | Self::Not(_)
            | Self::And(_)
            | Self::Or(_)
            | Self::Equal { .. }
            | Self::IsNull { .. }
            | Self::Ordered { .. }
            | Self::Between { .. }
            | Self::In { .. }
            | Self::Search { .. } => true,
        }
    }
}
