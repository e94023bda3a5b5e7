//! Typed headers: what a declaration yields and how the library uses it.

use alloc::borrow::Cow;

use super::{FieldBlock, FieldSink, FieldText, Fields};
use crate::codes::RequestCode;
use crate::error::{WireError, WireErrorKind};

/// A header that can be written.
pub trait WriteFields {
    /// Hands every present field to `sink`, in the order of the declaration.
    fn write_fields<S: FieldSink>(&self, sink: &mut S);
}

/// A header that can be read from the bytes of a frame; its texts borrow from them.
pub trait ReadFields<'a>: Sized {
    /// Reads the header. Unknown fields are passed over; of equal names the last one counts.
    ///
    /// # Errors
    /// Names the field that is missing though required, or that does not parse as its type.
    fn read_fields(fields: Fields<'a>) -> Result<Self, WireError>;
}

/// A declared header.
pub trait Header: WriteFields {
    /// The name of the Java class that declares the same fields.
    const CLASS: &'static str;
    /// The declared fields without those of [`Header::SCOPE`].
    const FIELDS: &'static [FieldSpec];
    /// The shared fields that follow (wire 4.0): none, those of every 5.x request, or these and `lo`.
    const SCOPE: &'static [FieldSpec];

    /// Reads the header from `fields` and writes it again: what of them it understands.
    ///
    /// # Errors
    /// As [`ReadFields::read_fields`].
    fn transcode(fields: Fields<'_>) -> Result<FieldBlock, WireError>;
}

/// A declared header by name: for tools that meet headers at run time.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct HeaderEntry {
    /// The name of the Java class that declares the same fields; empty if there is none.
    pub class: &'static str,
    /// The usual request code.
    pub code: Option<RequestCode>,
    /// The declared fields without those of `scope`.
    pub fields: &'static [FieldSpec],
    /// The shared fields that follow.
    pub scope: &'static [FieldSpec],
    /// Reads the header and writes it again; see [`Header::transcode`].
    pub transcode: fn(Fields<'_>) -> Result<FieldBlock, WireError>,
}

impl HeaderEntry {
    /// The entry of a header without a code.
    #[must_use]
    pub const fn header<H: Header>() -> Self {
        Self { class: H::CLASS, code: None, fields: H::FIELDS, scope: H::SCOPE, transcode: H::transcode }
    }

    /// The entry of a request header.
    #[must_use]
    pub const fn request<R: Request>() -> Self {
        Self { code: Some(R::CODE), ..Self::header::<R>() }
    }
}

/// A request header with the code it travels under.
pub trait Request: Header {
    /// The request code. A header that serves several codes names the usual one here.
    const CODE: RequestCode;
    /// The header of a successful answer.
    type Reply<'a>: ReadFields<'a>;
}

/// One declared field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldSpec {
    /// Name on the wire.
    pub name: &'static str,
    /// Type of the value.
    pub kind: FieldKind,
    /// When the field is there.
    pub presence: Presence,
}

impl FieldSpec {
    /// A field called `name` of type `kind`.
    #[must_use]
    pub const fn new(name: &'static str, kind: FieldKind, presence: Presence) -> Self {
        Self { name, kind, presence }
    }
}

/// Types of header fields; all travel as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FieldKind {
    /// A string, or the name of an enumeration constant.
    Text,
    /// A 32-bit integer in decimal.
    I32,
    /// A 64-bit integer in decimal.
    I64,
    /// `true` or `false`.
    Bool,
}

/// When a field is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Presence {
    /// The reader refuses the header without it.
    Required,
    /// May be absent.
    Optional,
    /// Always written; when absent it reads as 0, false or empty (a Java primitive that is not checked).
    Always,
    /// May be absent, and is no field of the Java class: written beside it by the broker or the client.
    Bare,
}

/// The fields that every 5.x request header shares (wire 4.0). 4.x peers ignore them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs)] // built by literal; the set is fixed by the protocol
pub struct Scope<'a> {
    /// `lo`: false after a static-topic rewrite; only headers that name a topic have it.
    pub logical: Option<bool>,
    /// `ns`: the namespace of a client that uses namespaces of the second kind.
    pub namespace: Option<Cow<'a, str>>,
    /// `nsd`: whether resource names already carry the namespace.
    pub namespaced: Option<bool>,
    /// `bname`: the broker that is meant, which a 5.x proxy needs.
    pub broker_name: Option<Cow<'a, str>>,
    /// `oway`: marks forwarding between brokers; clients leave it out.
    pub forwarded: Option<bool>,
}

impl<'a> Scope<'a> {
    /// Only the broker's name.
    #[must_use]
    pub fn broker(name: impl Into<Cow<'a, str>>) -> Self {
        Self { broker_name: Some(name.into()), ..Self::default() }
    }

    /// Writes the present ones of the fields named by `specs`.
    pub(crate) fn write<S: FieldSink>(&self, specs: &[FieldSpec], sink: &mut S) {
        if let (Some(value), Some(LOGICAL)) = (self.logical, specs.first().map(|spec| spec.name)) {
            sink.boolean(LOGICAL, value);
        }
        if let Some(value) = &self.namespace {
            sink.text("ns", value);
        }
        if let Some(value) = self.namespaced {
            sink.boolean("nsd", value);
        }
        if let Some(value) = &self.broker_name {
            sink.text("bname", value);
        }
        if let Some(value) = self.forwarded {
            sink.boolean("oway", value);
        }
    }
}

const LOGICAL: &str = "lo";

/// The fields of a scope while a header is read.
#[derive(Default)]
pub(crate) struct ScopeSlots<'a> {
    values: [Option<FieldText<'a>>; 5],
}

impl<'a> ScopeSlots<'a> {
    /// Keeps `value` if `name` is one of the shared fields.
    pub(crate) fn offer(&mut self, name: &str, value: FieldText<'a>) {
        let [logical, namespace, namespaced, broker_name, forwarded] = &mut self.values;
        match name {
            LOGICAL => *logical = Some(value),
            "ns" => *namespace = Some(value),
            "nsd" => *namespaced = Some(value),
            "bname" => *broker_name = Some(value),
            "oway" => *forwarded = Some(value),
            _ => {}
        }
    }

    pub(crate) fn read(self) -> Scope<'a> {
        let [logical, namespace, namespaced, broker_name, forwarded] = self.values;
        Scope {
            logical: logical.map(FieldText::is_true),
            namespace: namespace.map(FieldText::text),
            namespaced: namespaced.map(FieldText::is_true),
            broker_name: broker_name.map(FieldText::text),
            forwarded: forwarded.map(FieldText::is_true),
        }
    }
}

const fn shared(name: &'static str, kind: FieldKind) -> FieldSpec {
    FieldSpec::new(name, kind, Presence::Optional)
}

/// Shared fields of requests that name a topic.
const TOPIC_SCOPE: &[FieldSpec] = &[
    shared(LOGICAL, FieldKind::Bool),
    shared("ns", FieldKind::Text),
    shared("nsd", FieldKind::Bool),
    shared("bname", FieldKind::Text),
    shared("oway", FieldKind::Bool),
];

/// The shared fields by their word in a declaration: `topic`, `rpc` or nothing.
pub(crate) const fn scope_fields(word: &str) -> &'static [FieldSpec] {
    match word.as_bytes() {
        b"topic" => TOPIC_SCOPE,
        b"rpc" => TOPIC_SCOPE.split_at(1).1,
        _ => &[],
    }
}

/// A type that a field can have.
pub(crate) trait FieldValue<'a>: Sized {
    fn parse(text: FieldText<'a>, name: &'static str) -> Result<Self, WireError>;
    fn put<S: FieldSink>(&self, name: &'static str, sink: &mut S);
}

impl<'a> FieldValue<'a> for Cow<'a, str> {
    fn parse(text: FieldText<'a>, _name: &'static str) -> Result<Self, WireError> {
        Ok(text.text())
    }

    fn put<S: FieldSink>(&self, name: &'static str, sink: &mut S) {
        sink.text(name, self);
    }
}

impl FieldValue<'_> for i32 {
    fn parse(text: FieldText<'_>, name: &'static str) -> Result<Self, WireError> {
        text.i32(name)
    }

    fn put<S: FieldSink>(&self, name: &'static str, sink: &mut S) {
        sink.int(name, (*self).into());
    }
}

impl FieldValue<'_> for i64 {
    fn parse(text: FieldText<'_>, name: &'static str) -> Result<Self, WireError> {
        text.i64(name)
    }

    fn put<S: FieldSink>(&self, name: &'static str, sink: &mut S) {
        sink.int(name, *self);
    }
}

impl FieldValue<'_> for bool {
    fn parse(text: FieldText<'_>, _name: &'static str) -> Result<Self, WireError> {
        Ok(text.is_true())
    }

    fn put<S: FieldSink>(&self, name: &'static str, sink: &mut S) {
        sink.boolean(name, *self);
    }
}

/// Reads a required field.
pub(crate) fn required<'a, T: FieldValue<'a>>(text: Option<FieldText<'a>>, name: &'static str) -> Result<T, WireError> {
    text.map_or(Err(WireError::new(WireErrorKind::MissingField(name), 0)), |text| T::parse(text, name))
}

/// Reads an optional field.
pub(crate) fn optional<'a, T: FieldValue<'a>>(
    text: Option<FieldText<'a>>,
    name: &'static str,
) -> Result<Option<T>, WireError> {
    text.map(|text| T::parse(text, name)).transpose()
}

/// Reads a field that counts as its default when absent.
pub(crate) fn present<'a, T: FieldValue<'a> + Default>(
    text: Option<FieldText<'a>>,
    name: &'static str,
) -> Result<T, WireError> {
    text.map_or(Ok(T::default()), |text| T::parse(text, name))
}

/// Writes a field.
pub(crate) fn put<'a, T: FieldValue<'a>, S: FieldSink>(value: &T, name: &'static str, sink: &mut S) {
    value.put(name, sink);
}
