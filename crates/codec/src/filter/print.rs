//! Writing an expression so that reading it gives the same tree.

use core::fmt::{self, Write as _};

use super::tree::{Node, Order, Search};

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let not = |is_negated: &bool| if *is_negated { "NOT " } else { "" };
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Bool(value) => f.write_str(if *value { "TRUE" } else { "FALSE" }),
            Self::Integer(value) => write!(f, "{value}"),
            // With a dot or an exponent, as a floating-point number needs.
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Text(text) => quoted(f, text),
            Self::Property(name) => f.write_str(name),
            Self::Negate(of) => write!(f, "-{}", Operand(of)),
            Self::Not(of) => write!(f, "NOT {}", Operand(of)),
            Self::And(nodes) => joined(f, nodes, " AND "),
            Self::Or(nodes) => joined(f, nodes, " OR "),
            Self::Equal { is_negated, left, right } => {
                write!(f, "{} {} {}", Operand(left), if *is_negated { "<>" } else { "=" }, Operand(right))
            }
            Self::IsNull { is_negated, of } => write!(f, "{} IS {}NULL", Operand(of), not(is_negated)),
            Self::Ordered { by, left, right } => write!(f, "{} {by} {}", Operand(left), Operand(right)),
            Self::Between { is_negated, of, low, high } => {
                write!(f, "{} {}BETWEEN {} AND {}", Operand(of), not(is_negated), Operand(low), Operand(high))
            }
            Self::In { is_negated, property, list } => {
                write!(f, "{property} {}IN (", not(is_negated))?;
                for (at, text) in list.iter().enumerate() {
                    f.write_str(if at == 0 { "" } else { ", " })?;
                    quoted(f, text)?;
                }
                f.write_char(')')
            }
            Self::Search { is_negated, how, of, text } => {
                write!(f, "{} {}{how} ", Operand(of), not(is_negated))?;
                quoted(f, text)
            }
        }
    }
}

/// A node within another: in parentheses unless it is a single word.
struct Operand<'a>(&'a Node);

impl fmt::Display for Operand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Node::Null | Node::Bool(_) | Node::Integer(_) | Node::Float(_) | Node::Text(_) | Node::Property(_) => {
                self.0.fmt(f)
            }
            _ => write!(f, "({})", self.0),
        }
    }
}

fn joined(f: &mut fmt::Formatter<'_>, nodes: &[Node], by: &str) -> fmt::Result {
    for (at, node) in nodes.iter().enumerate() {
        f.write_str(if at == 0 { "" } else { by })?;
        write!(f, "{}", Operand(node))?;
    }
    Ok(())
}

fn quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('\'')?;
    for (at, piece) in text.split('\'').enumerate() {
        f.write_str(if at == 0 { "" } else { "''" })?;
        f.write_str(piece)?;
    }
    f.write_char('\'')
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
        })
    }
}

impl fmt::Display for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Contains => "CONTAINS",
            Self::StartsWith => "STARTSWITH",
            Self::EndsWith => "ENDSWITH",
        })
    }
}
