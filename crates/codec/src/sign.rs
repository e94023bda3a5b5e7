//! Signing of requests (wire 11.1): HMAC-SHA1 over the values of the header fields, sorted by name, and the body.
//!
//! The values are signed as text, so the very same text must go on the wire: sign last.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;

use crate::base64::{self, Alphabet};
use crate::hash::java_order;

/// Header field with the name of the key.
pub const ACCESS_KEY: &str = "AccessKey";
/// Header field with the token of temporary credentials.
pub const SECURITY_TOKEN: &str = "SecurityToken";
/// Header field with the signature itself, which is never signed.
pub const SIGNATURE: &str = "Signature";

/// Who signs. `Debug` shows the access key only.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Credentials {
    /// Name of the key; the user name in ACL 2.0.
    pub access_key: String,
    /// The secret; the password in ACL 2.0.
    pub secret_key: String,
    /// Token of temporary credentials.
    pub security_token: Option<String>,
}

impl Credentials {
    /// Credentials without a security token.
    pub fn new(access_key: impl Into<String>, secret_key: impl Into<String>) -> Self {
        Self { access_key: access_key.into(), secret_key: secret_key.into(), security_token: None }
    }

    /// The same credentials with a security token.
    #[must_use]
    pub fn with_token(self, token: impl Into<String>) -> Self {
        Self { security_token: Some(token.into()), ..self }
    }

    /// The fields to add to a request before it is signed.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        let token = self.security_token.as_deref().map(|token| (SECURITY_TOKEN, token));
        [(ACCESS_KEY, self.access_key.as_str())].into_iter().chain(token)
    }

    /// The signature of a request with these header fields and this body.
    ///
    /// The fields of [`fields`](Self::fields) are signed too, whether `fields` holds them or not; so is any field
    /// else, known to the peer or not. A `Signature` among `fields` is skipped.
    #[must_use]
    pub fn sign<'a>(&'a self, fields: impl IntoIterator<Item = (&'a str, &'a str)>, body: &[u8]) -> String {
        let mut mac = self.mac();
        for (_, value) in self.sorted(fields) {
            mac.update(value.as_bytes());
        }
        mac.update(body);
        base64::encode(Alphabet::Standard, &mac.finalize().into_bytes())
    }

    /// The text that [`sign`](Self::sign) signs, to find out why a peer does not agree.
    #[must_use]
    pub fn signed_content<'a>(&'a self, fields: impl IntoIterator<Item = (&'a str, &'a str)>, body: &[u8]) -> Vec<u8> {
        let mut content = Vec::new();
        for (_, value) in self.sorted(fields) {
            content.extend_from_slice(value.as_bytes());
        }
        content.extend_from_slice(body);
        content
    }

    /// Whether `signature` is that of the request. Takes the same time wherever they differ.
    #[must_use]
    pub fn verify<'a>(
        &'a self,
        fields: impl IntoIterator<Item = (&'a str, &'a str)>,
        body: &[u8],
        signature: &str,
    ) -> bool {
        let expected = self.sign(fields, body);
        let differs = expected.bytes().zip(signature.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b));
        expected.len() == signature.len() && differs == 0
    }

    /// Fields as signed: with the credentials' own, without the signature, each name once (its last value), sorted.
    fn sorted<'a>(&'a self, fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<(&'a str, &'a str)> {
        let mut sorted: Vec<(&str, &str)> = fields.into_iter().filter(|(name, _)| *name != SIGNATURE).collect();
        sorted.extend(self.fields());
        sorted.reverse();
        // Stable: of equal names the one that came last is first now and stays.
        sorted.sort_by(|left, right| java_order(left.0, right.0));
        sorted.dedup_by(|later, kept| later.0 == kept.0);
        sorted
    }

    #[allow(clippy::expect_used, reason = "HMAC takes keys of any length")]
    fn mac(&self) -> Hmac<Sha1> {
        Hmac::<Sha1>::new_from_slice(self.secret_key.as_bytes()).expect("HMAC takes keys of any length")
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("access_key", &self.access_key).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    const PULL: [(&str, &str); 12] = [
        ("topic", "T"),
        ("bname", "broker-a"),
        ("commitOffset", "0"),
        ("consumerGroup", "CG"),
        ("expressionType", "TAG"),
        ("maxMsgBytes", "2147483647"),
        ("maxMsgNums", "32"),
        ("queueId", "0"),
        ("queueOffset", "0"),
        ("subVersion", "1"),
        ("subscription", "*"),
        ("suspendTimeoutMillis", "15000"),
    ];

    #[test]
    fn pull_of_the_specification() {
        let credentials = Credentials::new("RocketMQ", "12345678");
        let fields = PULL.into_iter().chain([("sysFlag", "2"), ("Signature", "old")]);
        let content = credentials.signed_content(fields.clone(), b"");
        assert_eq!(content, b"RocketMQbroker-a0CGTAG214748364732001*150002T");
        let signature = credentials.sign(fields.clone(), b"");
        assert_eq!(signature, "xp+1JTd927STtmXiKM51fItUDsw=");
        assert!(credentials.verify(fields.clone(), b"", &signature));
        assert!(!credentials.verify(fields.clone(), b"x", &signature));
        assert!(!credentials.verify(fields, b"", "xp"));
    }

    #[test]
    fn token_and_body_of_the_specification() {
        let credentials = Credentials::new("RocketMQ", "12345678").with_token("tok");
        assert_eq!(credentials.signed_content([], b"{}"), b"RocketMQtok{}");
        assert_eq!(credentials.sign([], b"{}"), "NinC1P9Nj0/DlFPhbixWO7t4sCY=");
        // Fields already there are not signed twice.
        assert_eq!(credentials.sign(credentials.fields(), b"{}"), "NinC1P9Nj0/DlFPhbixWO7t4sCY=");
    }

    #[test]
    fn the_last_value_of_a_repeated_field_counts() {
        let credentials = Credentials::new("k", "s");
        assert_eq!(credentials.signed_content([("z", "1"), ("z", "2")], b""), b"k2");
    }

    #[test]
    fn secrets_are_not_shown() {
        let shown = format!("{:?}", Credentials::new("key", "hidden").with_token("tok"));
        assert!(shown.contains("key") && !shown.contains("hidden") && !shown.contains("tok"));
    }
}
