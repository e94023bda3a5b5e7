//! The system flag of a message: how its body is stored and what part it plays in a transaction (wire 6.2).

use crate::error::WireError;

/// The 32-bit system flag. Unknown bits are kept as they came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct SysFlag(pub i32);

/// How a compressed body is encoded (wire 6.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compression {
    /// An RFC 1950 stream. Peers before 4.9.4 know only this one.
    Zlib,
    /// The LZ4 frame format.
    Lz4,
    /// A Zstandard frame.
    Zstd,
}

/// A message's part in a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transaction {
    /// Not part of one.
    None,
    /// A half message, invisible to consumers.
    Prepared,
    /// Committed.
    Commit,
    /// Rolled back.
    Rollback,
}

impl SysFlag {
    /// Bit 0: the body is compressed.
    pub const COMPRESSED: i32 = 0x1;
    /// Bit 1: the topic filters by several tags. Kept for completeness; nothing acts on it.
    pub const MULTI_TAGS: i32 = 0x2;
    /// Bits 2-3: the transaction type.
    pub const TRANSACTION: i32 = 0xC;
    /// Bit 4: the born host is an IPv6 address.
    pub const BORN_HOST_V6: i32 = 0x10;
    /// Bit 5: the store host is an IPv6 address.
    pub const STORE_HOST_V6: i32 = 0x20;
    /// Bit 6: an inner batch that the consumer must unwrap.
    pub const NEED_UNWRAP: i32 = 0x40;
    /// Bit 7: the body is an inner batch.
    pub const INNER_BATCH: i32 = 0x80;
    /// Bits 8-10: the compression type.
    pub const COMPRESSION_TYPE: i32 = 0x700;

    /// Whether every bit of `mask` is set.
    #[must_use]
    pub const fn has(self, mask: i32) -> bool {
        self.0 & mask == mask
    }

    /// The flag with the bits of `mask` set.
    #[must_use]
    pub const fn with(self, mask: i32) -> Self {
        Self(self.0 | mask)
    }

    /// The flag with the bits of `mask` cleared.
    #[must_use]
    pub const fn without(self, mask: i32) -> Self {
        Self(self.0 & !mask)
    }

    /// How the body is compressed; `None` when the compressed bit is clear, whatever the type bits say.
    ///
    /// Type 0 is what senders before 4.9.4 write and means zlib.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::error::WireErrorKind::Unsupported) for the compressed bit with a type of 4 to 7.
    pub const fn compression(self) -> Result<Option<Compression>, WireError> {
        if !self.has(Self::COMPRESSED) {
            return Ok(None);
        }
        match (self.0 & Self::COMPRESSION_TYPE) >> 8 {
            0 | 3 => Ok(Some(Compression::Zlib)),
            1 => Ok(Some(Compression::Lz4)),
            2 => Ok(Some(Compression::Zstd)),
            _ => Err(WireError::new(crate::error::WireErrorKind::Unsupported("compression type"), 0)),
        }
    }

    /// The flag of a message whose body was compressed with `compression`. Java writes type 3 for zlib.
    #[must_use]
    pub const fn with_compression(self, compression: Compression) -> Self {
        let kind = match compression {
            Compression::Lz4 => 1,
            Compression::Zstd => 2,
            Compression::Zlib => 3,
        };
        Self(self.without(Self::COMPRESSION_TYPE).0 | Self::COMPRESSED | (kind << 8))
    }

    /// The message's part in a transaction.
    #[must_use]
    pub const fn transaction(self) -> Transaction {
        match (self.0 & Self::TRANSACTION) >> 2 {
            0 => Transaction::None,
            1 => Transaction::Prepared,
            2 => Transaction::Commit,
            _ => Transaction::Rollback,
        }
    }

    /// The flag with its transaction type replaced.
    #[must_use]
    pub const fn with_transaction(self, transaction: Transaction) -> Self {
        let kind = match transaction {
            Transaction::None => 0,
            Transaction::Prepared => 1,
            Transaction::Commit => 2,
            Transaction::Rollback => 3,
        };
        Self(self.without(Self::TRANSACTION).0 | (kind << 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codec_bits() {
        for (bits, expected) in [
            (0x001, Some(Compression::Zlib)),
            (0x301, Some(Compression::Zlib)),
            (0x101, Some(Compression::Lz4)),
            (0x201, Some(Compression::Zstd)),
            (0x300, None),
            (0x000, None),
            (0x700, None),
        ] {
            assert_eq!(SysFlag(bits).compression(), Ok(expected), "{bits:#x}");
        }
        for bits in [0x401, 0x501, 0x601, 0x701] {
            assert!(SysFlag(bits).compression().is_err(), "{bits:#x}");
        }
    }

    #[test]
    fn compression_replaces_the_type() {
        assert_eq!(SysFlag(0x708).with_compression(Compression::Lz4), SysFlag(0x109));
        assert_eq!(SysFlag(0).with_compression(Compression::Zlib), SysFlag(0x301));
        assert_eq!(SysFlag(0).with_compression(Compression::Zstd), SysFlag(0x201));
    }

    #[test]
    fn transaction_bits() {
        for (bits, kind) in
            [(0, Transaction::None), (4, Transaction::Prepared), (8, Transaction::Commit), (12, Transaction::Rollback)]
        {
            assert_eq!(SysFlag(bits).transaction(), kind);
            assert_eq!(SysFlag(0x73).with_transaction(kind), SysFlag(0x73 | bits));
        }
    }
}
