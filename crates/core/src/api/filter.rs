//! Which messages of a topic a consumer wants.

use alloc::string::String;

/// Which messages of a topic a consumer wants. A text is taken for tags.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FilterExpression {
    /// By their tags: `*` wants all, `a || b` those with one of the tags.
    Tags(String),
    /// By their properties, as this SQL92 condition says, such as `price > 5 AND region IN ('eu', 'us')`. Brokers evaluate
    /// it; those of Apache only with `enablePropertyFilter`.
    Sql(String),
}

impl FilterExpression {
    /// By their properties.
    pub fn sql(expression: impl Into<String>) -> Self {
        Self::Sql(expression.into())
    }

    /// The expression's text.
    #[must_use]
    pub const fn as_str(&self) -> &str {
        match self {
            Self::Tags(text) | Self::Sql(text) => text.as_str(),
        }
    }
}

impl From<&str> for FilterExpression {
    fn from(tags: &str) -> Self {
        Self::Tags(tags.into())
    }
}

impl From<String> for FilterExpression {
    fn from(tags: String) -> Self {
        Self::Tags(tags)
    }
}

impl From<&String> for FilterExpression {
    fn from(tags: &String) -> Self {
        Self::Tags(tags.clone())
    }
}
