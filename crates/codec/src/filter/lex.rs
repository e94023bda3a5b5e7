//! Tokens: the longest that can be read, as Apache's lexer takes them.

use super::{SqlError, SqlErrorKind};

/// A token with its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    pub(super) at: usize,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    End,
    Integer,
    Float,
    /// With its quotes.
    Text,
    Identifier,
    Not,
    And,
    Or,
    Between,
    In,
    True,
    False,
    Null,
    Is,
    Contains,
    StartsWith,
    EndsWith,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Plus,
    Minus,
    Open,
    Close,
    Comma,
}

const KEYWORDS: [(&str, Kind); 12] = [
    ("NOT", Kind::Not),
    ("AND", Kind::And),
    ("OR", Kind::Or),
    ("BETWEEN", Kind::Between),
    ("IN", Kind::In),
    ("TRUE", Kind::True),
    ("FALSE", Kind::False),
    ("NULL", Kind::Null),
    ("IS", Kind::Is),
    ("CONTAINS", Kind::Contains),
    ("STARTSWITH", Kind::StartsWith),
    ("ENDSWITH", Kind::EndsWith),
];

const SYMBOLS: [(&str, Kind); 11] = [
    ("<>", Kind::NotEqual),
    ("<=", Kind::LessEqual),
    (">=", Kind::GreaterEqual),
    ("<", Kind::Less),
    (">", Kind::Greater),
    ("=", Kind::Equal),
    ("+", Kind::Plus),
    ("-", Kind::Minus),
    ("(", Kind::Open),
    (")", Kind::Close),
    (",", Kind::Comma),
];

/// Reads tokens from a text.
#[derive(Clone, Debug)]
pub(super) struct Lexer<'a> {
    rest: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { rest: text, at: 0 }
    }

    /// The next token; [`Kind::End`] again and again at the end.
    pub(super) fn next(&mut self) -> Result<Token<'a>, SqlError> {
        self.skip_blanks();
        let at = self.at;
        let Some(first) = self.rest.chars().next() else { return Ok(Token { kind: Kind::End, text: "", at }) };
        let (kind, length) = match first {
            '\'' => (Kind::Text, text_length(self.rest)),
            '0'..='9' | '.' => number(self.rest),
            'a'..='z' | 'A'..='Z' | '_' | '$' => word(self.rest),
            _ => symbol(self.rest),
        };
        if length == 0 {
            return Err(SqlError { position: at, reason: SqlErrorKind::Character(first) });
        }
        let (text, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.rest = rest;
        self.at = at.saturating_add(text.len());
        Ok(Token { kind, text, at })
    }

    fn skip_blanks(&mut self) {
        loop {
            let rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n', '\x0c']);
            let rest = after_comment(rest);
            if rest.len() == self.rest.len() {
                return;
            }
            self.at = self.at.saturating_add(self.rest.len().saturating_sub(rest.len()));
            self.rest = rest;
        }
    }
}

/// What follows a comment, if the text begins with one. A line comment without the end of its line is none.
fn after_comment(text: &str) -> &str {
    if let Some(comment) = text.strip_prefix("--") {
        return comment.split_once(['\r', '\n']).map_or(text, |(_, rest)| rest);
    }
    if let Some(comment) = text.strip_prefix("/*") {
        return comment.split_once("*/").map_or(text, |(_, rest)| rest);
    }
    text
}

/// The length of a text with its quotes; 0 when the closing one is missing.
fn text_length(text: &str) -> usize {
    let mut end = 1_usize;
    while let Some(quote) = text.get(end..).and_then(|rest| rest.find('\'')) {
        end = end.saturating_add(quote).saturating_add(1);
        if text.as_bytes().get(end) != Some(&b'\'') {
            return end;
        }
        end = end.saturating_add(1);
    }
    0
}

fn number(text: &str) -> (Kind, usize) {
    let whole = digits(text, 0);
    let mut float = None;
    if text.as_bytes().get(whole) == Some(&b'.') {
        let fraction = digits(text, whole.saturating_add(1));
        // A dot needs a digit on one side at least.
        if whole > 0 || fraction > 1 {
            float = Some(exponent(text, fraction).unwrap_or(fraction));
        }
    } else {
        float = exponent(text, whole);
    }
    if let Some(length) = float {
        return (Kind::Float, length);
    }
    // After a leading zero another token begins.
    let length = if text.starts_with('0') { 1 } else { whole };
    let has_suffix = length > 0 && matches!(text.as_bytes().get(length), Some(b'l' | b'L'));
    (Kind::Integer, length.saturating_add(usize::from(has_suffix)))
}

/// Where the digits from `at` on end.
fn digits(text: &str, at: usize) -> usize {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    at.saturating_add(rest.iter().take_while(|byte| byte.is_ascii_digit()).count())
}

/// Where the exponent at `at` ends, if there is one.
fn exponent(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes().get(at..)?;
    if !matches!(bytes.first()?, b'e' | b'E') {
        return None;
    }
    let sign = usize::from(matches!(bytes.get(1), Some(b'+' | b'-')));
    let from = at.saturating_add(1).saturating_add(sign);
    let end = digits(text, from);
    (end > from).then_some(end)
}

fn word(text: &str) -> (Kind, usize) {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$');
    let length = text.bytes().take_while(is_part).count();
    let word = text.get(..length).unwrap_or_default();
    let keyword = KEYWORDS.iter().find(|(keyword, _)| keyword.eq_ignore_ascii_case(word));
    (keyword.map_or(Kind::Identifier, |(_, kind)| *kind), length)
}

fn symbol(text: &str) -> (Kind, usize) {
    let found = SYMBOLS.iter().find(|(symbol, _)| text.starts_with(symbol));
    found.map_or((Kind::End, 0), |(symbol, kind)| (*kind, symbol.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::prelude::v1::*;

    fn tokens(text: &str) -> Result<Vec<(Kind, &str)>, SqlError> {
        let mut lexer = Lexer::new(text);
        let mut tokens = Vec::new();
        loop {
            let token = lexer.next()?;
            assert!(text[token.at..].starts_with(token.text));
            if token.kind == Kind::End {
                return Ok(tokens);
            }
            tokens.push((token.kind, token.text));
        }
    }

    #[test]
    fn numbers_take_all_they_can() {
        use Kind::{Float, Identifier, Integer};
        let cases: [(&str, &[(Kind, &str)]); 9] = [
            ("12L", &[(Integer, "12L")]),
            ("010", &[(Integer, "0"), (Integer, "10")]),
            ("0x10", &[(Integer, "0"), (Identifier, "x10")]),
            ("010.5", &[(Float, "010.5")]),
            ("5.", &[(Float, "5.")]),
            (".5e-3", &[(Float, ".5e-3")]),
            ("1e3", &[(Float, "1e3")]),
            ("1e", &[(Integer, "1"), (Identifier, "e")]),
            ("1.e", &[(Float, "1."), (Identifier, "e")]),
        ];
        for (text, expected) in cases {
            assert_eq!(tokens(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn comments_and_quotes() {
        assert_eq!(tokens("/* a */ 'it''s' -- end\n/**/").unwrap(), [(Kind::Text, "'it''s'")]);
        assert_eq!(tokens("-- end").unwrap().len(), 3, "two signs and a word");
        for (text, position) in [("a 'x", 2), ("'x''", 0), ("/* x", 0), ("a . b", 2), ("a ＞ 5", 2), ("a!", 1)] {
            assert_eq!(tokens(text).map_err(|error| error.position), Err(position), "{text}");
        }
    }
}
