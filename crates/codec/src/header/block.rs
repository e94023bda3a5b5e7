//! Extension fields kept on their own.

use bytes::{Bytes, BytesMut};

use super::binary::BinaryFields;
use super::{Encoding, Field, FieldSink, Fields, WriteFields};

/// Extension fields without a header around them: what a request that is not sent yet keeps.
///
/// Held in the binary encoding; written into a header of either encoding.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldBlock {
    entries: Bytes,
}

impl FieldBlock {
    /// The fields of `header`, in the order of its declaration.
    #[must_use]
    pub fn of<W: WriteFields + ?Sized>(header: &W) -> Self {
        let mut out = BytesMut::new();
        header.write_fields(&mut BinaryFields { out: &mut out });
        Self { entries: out.freeze() }
    }

    /// The fields, as a walk.
    #[must_use]
    pub fn fields(&self) -> Fields<'_> {
        Fields::new(Encoding::Binary, &self.entries, 0)
    }

    /// Size in bytes of the binary encoding.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no fields.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl WriteFields for FieldBlock {
    fn write_fields<S: FieldSink>(&self, sink: &mut S) {
        self.fields().write_fields(sink);
    }
}

impl WriteFields for Fields<'_> {
    fn write_fields<S: FieldSink>(&self, sink: &mut S) {
        if !sink.raw(*self) {
            for Field { name, value } in *self {
                sink.extra(&name, &value.text());
            }
        }
    }
}

impl WriteFields for [(&str, &str)] {
    fn write_fields<S: FieldSink>(&self, sink: &mut S) {
        for (name, value) in self {
            sink.extra(name, value);
        }
    }
}

impl<A: WriteFields + ?Sized, B: WriteFields + ?Sized> WriteFields for (&A, &B) {
    fn write_fields<S: FieldSink>(&self, sink: &mut S) {
        self.0.write_fields(sink);
        self.1.write_fields(sink);
    }
}
