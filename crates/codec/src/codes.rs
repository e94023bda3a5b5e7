//! Request codes, response codes, languages and versions.
//!
//! All four are open: a peer may send a number that this library does not know, and it is kept as it is.

use core::fmt;

mod request;
mod response;

/// What a request asks for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(clippy::exhaustive_structs)] // a number with names
pub struct RequestCode(pub i32);

/// How a request ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(clippy::exhaustive_structs)] // a number with names
pub struct ResponseCode(pub i32);

/// Declares the constants of a code type and their names.
macro_rules! code_table {
    ($type:ident { $($(#[$doc:meta])* $name:ident = $value:literal,)* }) => {
        impl super::$type {
            $($(#[$doc])* pub const $name: Self = Self($value);)*

            /// Every constant with its name, by number.
            pub const ALL: &'static [(&'static str, Self)] = &[$((stringify!($name), Self::$name),)*];
        }
    };
}
use code_table;

macro_rules! code_text {
    ($type:ident) => {
        impl $type {
            /// The constant's name as the protocol spells it.
            #[must_use]
            pub fn name(self) -> Option<&'static str> {
                let at = Self::ALL.binary_search_by_key(&self, |(_, code)| *code).ok()?;
                Self::ALL.get(at).map(|(name, _)| *name)
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.name() {
                    Some(name) => write!(f, "{name} ({})", self.0),
                    None => write!(f, "code {}", self.0),
                }
            }
        }
    };
}

code_text!(RequestCode);
code_text!(ResponseCode);

/// The language that a peer says it is written in (wire 2.6).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Language(u8);

impl Language {
    /// Java.
    pub const JAVA: Self = Self(0);
    /// C++.
    pub const CPP: Self = Self(1);
    /// .NET.
    pub const DOTNET: Self = Self(2);
    /// Python.
    pub const PYTHON: Self = Self(3);
    /// Delphi.
    pub const DELPHI: Self = Self(4);
    /// Erlang.
    pub const ERLANG: Self = Self(5);
    /// Ruby.
    pub const RUBY: Self = Self(6);
    /// Something else.
    pub const OTHER: Self = Self(7);
    /// HTTP.
    pub const HTTP: Self = Self(8);
    /// Go.
    pub const GO: Self = Self(9);
    /// PHP.
    pub const PHP: Self = Self(10);
    /// OMS, known since 4.3.0.
    pub const OMS: Self = Self(11);
    /// Rust, known since 4.9.4.
    pub const RUST: Self = Self(12);
    /// Node.js, known since 5.3.2.
    pub const NODE_JS: Self = Self(13);
    /// A name in a JSON header that stands for none of these, or `null`.
    pub const UNNAMED: Self = Self(255);

    const NAMES: [&'static str; 14] = [
        "JAVA", "CPP", "DOTNET", "PYTHON", "DELPHI", "ERLANG", "RUBY", "OTHER", "HTTP", "GO", "PHP", "OMS", "RUST",
        "NODE_JS",
    ];

    /// The language of a byte in a binary header; unknown bytes are kept.
    #[must_use]
    pub const fn from_byte(byte: u8) -> Self {
        Self(byte)
    }

    /// The byte for a binary header.
    #[must_use]
    pub const fn to_byte(self) -> u8 {
        self.0
    }

    /// The language of a name, [`Language::UNNAMED`] if it is unknown.
    #[must_use]
    pub fn from_name(name: &[u8]) -> Self {
        let known = (0_u8..).zip(Self::NAMES).find(|(_, known)| known.as_bytes() == name);
        known.map_or(Self::UNNAMED, |(byte, _)| Self(byte))
    }

    /// The name for a JSON header; `None` for unknown bytes.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        Self::NAMES.get(usize::from(self.0)).copied()
    }
}

impl fmt::Debug for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "language {}", self.0),
        }
    }
}

/// A version of the protocol: the ordinal in a long list of releases and snapshots (wire 2.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[allow(clippy::exhaustive_structs)] // a number with names
pub struct Version(pub i32);

impl Version {
    /// The snapshot of 3.4.9: from here `maxReconsumeTimes` counts.
    pub const V3_4_9: Self = Self(121);
    /// 4.1.0 as it was shipped: brokers from here on filter by SQL.
    pub const V4_1_0_SNAPSHOT: Self = Self(232);
    /// 4.2.0 as it was shipped.
    pub const V4_2_0_SNAPSHOT: Self = Self(252);
    /// 4.9.4: from here name servers answer routes in standard JSON.
    pub const V4_9_4: Self = Self::release(4, 9, 4);
    /// 5.0.0.
    pub const V5_0_0: Self = Self::release(5, 0, 0);
    /// 5.3.1: versions above may be told to go away.
    pub const V5_3_1: Self = Self::release(5, 3, 1);
    /// 5.3.3.
    pub const V5_3_3: Self = Self::release(5, 3, 3);
    /// Stands for everything newer than the list.
    pub const HIGHER: Self = Self(612);

    /// The release `major.minor.patch`, for majors 4 and 5 with minor and patch from 0 to 9.
    #[must_use]
    pub const fn release(major: u8, minor: u8, patch: u8) -> Self {
        let base = if major >= 5 { 413_i32 } else { 213 };
        let (minor, patch) = (minor as i32, patch as i32);
        Self(base.saturating_add(minor.saturating_mul(20)).saturating_add(patch.saturating_mul(2)))
    }

    /// Major, minor, patch and whether it is a snapshot; `None` below 4.0.0 and above the list.
    #[must_use]
    pub fn parts(self) -> Option<(u8, u8, u8, bool)> {
        // Counted from the snapshot of 4.0.0: each release follows its snapshot.
        let steps = u16::try_from(self.0.checked_sub(212)?).ok()?;
        let (major, within) = if steps < 200 { (4, steps) } else { (5, steps.checked_sub(200)?) };
        if within >= 200 {
            return None;
        }
        let (minor, patch) = (u8::try_from(within / 20).ok()?, u8::try_from(within % 20 / 2).ok()?);
        Some((major, minor, patch, within % 2 == 0))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parts() {
            Some((major, minor, patch, false)) => write!(f, "{major}.{minor}.{patch}"),
            Some((major, minor, patch, true)) => write!(f, "{major}.{minor}.{patch}-SNAPSHOT"),
            None => write!(f, "version {}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn tables_are_sorted_and_named() {
        assert!(RequestCode::ALL.is_sorted_by(|a, b| a.1 < b.1));
        assert!(ResponseCode::ALL.is_sorted_by(|a, b| a.1 < b.1));
        assert_eq!(RequestCode::SEND_MESSAGE_V2.to_string(), "SEND_MESSAGE_V2 (310)");
        assert_eq!(RequestCode(7).to_string(), "code 7");
        assert_eq!(ResponseCode::RPC_TIME_OUT.name(), Some("RPC_TIME_OUT"));
    }

    #[test]
    fn versions_show_as_releases() {
        assert_eq!(Version::V5_3_3, Version(479));
        assert_eq!(Version::V4_9_4, Version(401));
        assert_eq!(Version(252).to_string(), "4.2.0-SNAPSHOT");
        assert_eq!(Version(479).to_string(), "5.3.3");
        assert_eq!(Version::HIGHER.to_string(), "version 612");
        assert_eq!(Version(211).to_string(), "version 211");
        assert_eq!(Version(i32::MIN).to_string(), "version -2147483648");
    }

    #[test]
    fn unknown_languages_are_kept() {
        assert_eq!(Language::from_byte(99).to_byte(), 99);
        assert_eq!(Language::from_name(b"ZIG"), Language::UNNAMED);
        assert_eq!(Language::from_name(b"RUST"), Language::RUST);
    }
}
