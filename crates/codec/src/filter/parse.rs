//! The grammar of wire 10.2, and the checks that Apache makes before any message is seen.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::lex::{Kind, Lexer, Token};
use super::tree::{Node, Order, Search};
use super::{MAX_BYTES, MAX_DEPTH, SqlError, SqlErrorKind};

/// A node with its place and the levels below it.
struct Part {
    node: Node,
    at: usize,
    depth: usize,
}

/// Reads one expression: one token of look-ahead, a second one after NOT.
pub(super) struct Parser<'a> {
    lexer: Lexer<'a>,
    token: Token<'a>,
    nesting: usize,
}

type Parsed = Result<Part, SqlError>;

impl<'a> Parser<'a> {
    /// Reads a whole expression; and where the text begins that does not belong to it.
    pub(super) fn parse(text: &'a str) -> Result<(Node, Option<usize>), SqlError> {
        if text.len() > MAX_BYTES {
            return Err(SqlError { position: MAX_BYTES, reason: SqlErrorKind::TooLong });
        }
        let mut lexer = Lexer::new(text);
        let token = lexer.next()?;
        if token.kind == Kind::End {
            return Err(SqlError { position: 0, reason: SqlErrorKind::Empty });
        }
        let mut parser = Self { lexer, token, nesting: 0 };
        let root = condition(parser.or()?)?.node;
        let ignored = (parser.token.kind != Kind::End).then_some(parser.token.at);
        while parser.token.kind != Kind::End {
            parser.advance()?;
        }
        Ok((root, ignored))
    }

    fn advance(&mut self) -> Result<Token<'a>, SqlError> {
        let next = self.lexer.next()?;
        Ok(core::mem::replace(&mut self.token, next))
    }

    fn take(&mut self, kind: Kind) -> Result<bool, SqlError> {
        let is_there = self.token.kind == kind;
        if is_there {
            self.advance()?;
        }
        Ok(is_there)
    }

    fn expect(&mut self, kind: Kind, what: &'static str) -> Result<Token<'a>, SqlError> {
        if self.token.kind == kind { self.advance() } else { self.fail(SqlErrorKind::Expected(what)) }
    }

    const fn fail<T>(&self, reason: SqlErrorKind) -> Result<T, SqlError> {
        Err(SqlError { position: self.token.at, reason })
    }

    fn or(&mut self) -> Parsed {
        let first = self.and()?;
        self.chain(first, Kind::Or, Self::and, Node::Or)
    }

    fn and(&mut self) -> Parsed {
        let first = self.equality()?;
        self.chain(first, Kind::And, Self::equality, Node::And)
    }

    /// Operands of AND or OR. Many beside each other are one level, so that long lists need no deep stack.
    fn chain(
        &mut self,
        first: Part,
        kind: Kind,
        operand: fn(&mut Self) -> Parsed,
        join: fn(Vec<Node>) -> Node,
    ) -> Parsed {
        if self.token.kind != kind {
            return Ok(first);
        }
        let Part { node, at, mut depth } = condition(first)?;
        let mut nodes = alloc::vec![node];
        while self.take(kind)? {
            let next = condition(operand(self)?)?;
            depth = depth.max(next.depth);
            nodes.push(next.node);
        }
        above(join(nodes), at, depth)
    }

    fn equality(&mut self) -> Parsed {
        let mut left = self.comparison()?;
        loop {
            let (at, depth) = (left.at, left.depth);
            left = match self.token.kind {
                kind @ (Kind::Equal | Kind::NotEqual) => {
                    self.advance()?;
                    let right = self.comparison()?;
                    let depth = depth.max(right.depth);
                    let (left, right) = (comparable(left)?, comparable(right)?);
                    above(Node::Equal { is_negated: kind == Kind::NotEqual, left, right }, at, depth)?
                }
                Kind::Is => {
                    self.advance()?;
                    let is_negated = self.take(Kind::Not)?;
                    self.expect(Kind::Null, "NULL")?;
                    above(Node::IsNull { is_negated, of: Box::new(left.node) }, at, depth)?
                }
                _ => return Ok(left),
            };
        }
    }

    fn comparison(&mut self) -> Parsed {
        let mut left = self.unary()?;
        loop {
            let is_negated = self.token.kind == Kind::Not;
            let kind = if is_negated { self.lexer.clone().next()?.kind } else { self.token.kind };
            let order = match kind {
                Kind::Less => Some(Order::Less),
                Kind::LessEqual => Some(Order::LessEqual),
                Kind::Greater => Some(Order::Greater),
                Kind::GreaterEqual => Some(Order::GreaterEqual),
                _ => None,
            };
            let how = match kind {
                Kind::Contains => Some(Search::Contains),
                Kind::StartsWith => Some(Search::StartsWith),
                Kind::EndsWith => Some(Search::EndsWith),
                _ => None,
            };
            let is_operator = how.is_some() || matches!(kind, Kind::Between | Kind::In);
            if !is_operator && (is_negated || order.is_none()) {
                return Ok(left);
            }
            if is_negated {
                self.advance()?;
            }
            self.advance()?;
            left = match (order, how) {
                (Some(by), _) => self.ordered(left, by)?,
                (_, Some(how)) => self.search(left, is_negated, how)?,
                _ if kind == Kind::Between => self.between(left, is_negated)?,
                _ => self.list(left, is_negated)?,
            };
        }
    }

    fn ordered(&mut self, left: Part, by: Order) -> Parsed {
        let right = self.unary()?;
        let (at, depth) = (left.at, left.depth.max(right.depth));
        let (left, right) = (sortable(left)?, sortable(right)?);
        above(Node::Ordered { by, left, right }, at, depth)
    }

    fn search(&mut self, of: Part, is_negated: bool, how: Search) -> Parsed {
        let text = self.text()?;
        above(Node::Search { is_negated, how, of: Box::new(of.node), text }, of.at, of.depth)
    }

    fn between(&mut self, of: Part, is_negated: bool) -> Parsed {
        let low = self.unary()?;
        self.expect(Kind::And, "AND")?;
        let high = self.unary()?;
        let (at, from) = (of.at, low.at);
        let depth = of.depth.max(low.depth).max(high.depth);
        let (of, low, high) = (sortable(of)?, sortable(low)?, sortable(high)?);
        if let (Some(least), Some(most)) = (constant(&low), constant(&high))
            && least > most
        {
            return Err(SqlError { position: from, reason: SqlErrorKind::Bounds });
        }
        above(Node::Between { is_negated, of, low, high }, at, depth)
    }

    fn list(&mut self, left: Part, is_negated: bool) -> Parsed {
        let Node::Property(property) = left.node else {
            return Err(SqlError { position: left.at, reason: SqlErrorKind::InNeedsProperty });
        };
        self.expect(Kind::Open, "an opening parenthesis")?;
        let mut list = alloc::vec![self.text()?];
        while self.take(Kind::Comma)? {
            list.push(self.text()?);
        }
        self.expect(Kind::Close, "a closing parenthesis")?;
        above(Node::In { is_negated, property, list }, left.at, 0)
    }

    /// A text without its quotes.
    fn text(&mut self) -> Result<Box<str>, SqlError> {
        self.expect(Kind::Text, "a text in single quotes").map(|token| unquote(token.text))
    }

    fn unary(&mut self) -> Parsed {
        self.nesting = self.nesting.saturating_add(1);
        if self.nesting > MAX_DEPTH {
            return self.fail(SqlErrorKind::TooDeep);
        }
        let token = self.token;
        let parsed = match token.kind {
            Kind::Plus => {
                self.advance()?;
                self.unary()?
            }
            Kind::Minus => {
                self.advance()?;
                let of = self.unary()?;
                above(Node::Negate(Box::new(of.node)), token.at, of.depth)?
            }
            Kind::Not => {
                self.advance()?;
                let of = condition(self.unary()?)?;
                above(Node::Not(Box::new(of.node)), token.at, of.depth)?
            }
            _ => self.primary()?,
        };
        self.nesting = self.nesting.saturating_sub(1);
        Ok(parsed)
    }

    fn primary(&mut self) -> Parsed {
        let token = self.token;
        let error = |reason| SqlError { position: token.at, reason };
        let node = match token.kind {
            Kind::Text => Node::Text(unquote(token.text)),
            Kind::Integer => integer(token.text).ok_or(error(SqlErrorKind::IntegerRange))?,
            Kind::Float => float(token.text).ok_or(error(SqlErrorKind::FloatRange))?,
            Kind::True => Node::Bool(true),
            Kind::False => Node::Bool(false),
            Kind::Null => Node::Null,
            Kind::Identifier => Node::Property(token.text.into()),
            Kind::Open => {
                self.advance()?;
                let inner = self.or()?;
                self.expect(Kind::Close, "a closing parenthesis")?;
                return Ok(inner);
            }
            _ => return self.fail(SqlErrorKind::Expected("a value, a property or a parenthesis")),
        };
        self.advance()?;
        Ok(Part { node, at: token.at, depth: 0 })
    }
}

/// A node above others of this depth.
fn above(node: Node, at: usize, below: usize) -> Parsed {
    let depth = below.saturating_add(1);
    if depth > MAX_DEPTH {
        return Err(SqlError { position: at, reason: SqlErrorKind::TooDeep });
    }
    Ok(Part { node, at, depth })
}

/// An operand of NOT, AND and OR, or a whole expression: a condition, or a property that is taken as one.
fn condition(part: Part) -> Parsed {
    if part.node.is_condition() || matches!(part.node, Node::Property(_)) {
        return Ok(part);
    }
    Err(SqlError { position: part.at, reason: SqlErrorKind::NotBoolean })
}

/// An operand of `=` and `<>`.
fn comparable(part: Part) -> Result<Box<Node>, SqlError> {
    if part.node == Node::Null {
        return Err(SqlError { position: part.at, reason: SqlErrorKind::NullCompared });
    }
    Ok(Box::new(part.node))
}

/// An operand of `<` and its like.
fn sortable(part: Part) -> Result<Box<Node>, SqlError> {
    if part.node.is_condition() || matches!(part.node, Node::Text(_)) {
        return Err(SqlError { position: part.at, reason: SqlErrorKind::NoOrder });
    }
    Ok(Box::new(part.node))
}

/// A number that is known before any message is seen.
fn constant(node: &Node) -> Option<f64> {
    match node {
        #[expect(clippy::cast_precision_loss, reason = "as Java widens")]
        Node::Integer(value) => Some(*value as f64),
        Node::Float(value) => Some(*value),
        _ => None,
    }
}

fn integer(text: &str) -> Option<Node> {
    text.trim_end_matches(['l', 'L']).parse().ok().map(Node::Integer)
}

fn float(text: &str) -> Option<Node> {
    let value: f64 = text.parse().ok()?;
    // Java asks for at least the smallest positive number, and zero is below it.
    (value > 0.0 && value.is_finite()).then_some(Node::Float(value))
}

fn unquote(text: &str) -> Box<str> {
    let inner = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')).unwrap_or(text);
    if inner.contains("''") { String::from(inner).replace("''", "'").into() } else { inner.into() }
}
