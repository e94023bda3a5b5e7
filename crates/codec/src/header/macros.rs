//! The declaration of typed headers.
//!
//! ```text
//! header! {
//!     /// Documentation of the header.
//!     pub struct Name<'a>: "JavaClass" + topic;      // `+ topic`, `+ rpc` or nothing: wire 4.0
//!     /// Documentation of the field.
//!     field_name: text required = "wireName",        // text, i32, i64, bool; required, optional, always, bare
//! }
//! ```
//!
//! A declaration yields the struct with public fields, its reader, its writer and its list of fields. `Name<'a>` is
//! written also where no text is borrowed only if there is one; otherwise `Name`.

/// Declares one header; see the module.
macro_rules! header {
    ($(#[$doc:meta])* pub struct $name:ident: $class:literal $(+ $scope:ident)?; $($body:tt)*) => {
        $crate::header::macros::header! { @define ['x] [] [$name] [$(#[$doc])*] $name $class [$($scope)?] $($body)* }
    };
    ($(#[$doc:meta])* pub struct $name:ident<$lt:lifetime>: $class:literal $(+ $scope:ident)?; $($body:tt)*) => {
        $crate::header::macros::header! {
            @define [$lt] [<$lt>] [$name<$lt>] [$(#[$doc])*] $name $class [$($scope)?] $($body)*
        }
    };
    (@define [$lt:lifetime] [$($generics:tt)*] [$type:ty] [$(#[$doc:meta])*] $name:ident $class:literal [$($scope:ident)?]
        $($(#[$field_doc:meta])* $field:ident: $kind:ident $presence:ident = $wire:literal,)*) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        #[allow(clippy::exhaustive_structs)] // built by literal; a new wire field is a new version of the header
        pub struct $name $($generics)* {
            $(
                $(#[$field_doc])*
                pub $field: $crate::header::macros::field_type!($lt $kind $presence),
            )*
            $(
                #[doc = concat!("The shared fields of a request (", stringify!($scope), ").")]
                pub scope: $crate::header::Scope<$lt>,
            )?
        }

        #[allow(clippy::extra_unused_lifetimes)]
        impl<$lt> $crate::header::Header for $type {
            const CLASS: &'static str = $class;
            const FIELDS: &'static [$crate::header::FieldSpec] = &[$(
                $crate::header::macros::field_spec!($wire $kind $presence),
            )*];
            const SCOPE: &'static [$crate::header::FieldSpec] =
                $crate::header::scope_fields(concat!("", $(stringify!($scope))?));

            fn transcode(fields: $crate::header::Fields<'_>) -> Result<$crate::header::FieldBlock, $crate::error::WireError> {
                use $crate::header::ReadFields as _;
                let header = $name::read_fields(fields)?;
                Ok($crate::header::FieldBlock::of(&header))
            }
        }

        #[allow(clippy::extra_unused_lifetimes, unused_variables)]
        impl<$lt> $crate::header::WriteFields for $type {
            fn write_fields<S: $crate::header::FieldSink>(&self, sink: &mut S) {
                $( $crate::header::macros::put_field!(self.$field, $wire, sink, $presence); )*
                $( $crate::header::macros::skip!($scope); self.scope.write(
                    <Self as $crate::header::Header>::SCOPE, sink); )?
            }
        }

        impl<$lt> $crate::header::ReadFields<$lt> for $type {
            #[allow(unused_variables, unused_mut)]
            fn read_fields(fields: $crate::header::Fields<$lt>) -> Result<Self, $crate::error::WireError> {
                $( let mut $field: Option<$crate::header::FieldText<$lt>> = None; )*
                $( $crate::header::macros::skip!($scope); let mut scope = $crate::header::ScopeSlots::default(); )?
                for field in fields {
                    match &*field.name {
                        $( $wire => $field = Some(field.value), )*
                        name => { $( $crate::header::macros::skip!($scope); scope.offer(name, field.value); )? }
                    }
                }
                Ok(Self {
                    $( $field: $crate::header::macros::read_field!($field, $wire, $presence), )*
                    $( scope: { $crate::header::macros::skip!($scope); scope.read() }, )?
                })
            }
        }
    };
}

/// Ties a request header to its code and to the header of its answer.
macro_rules! request {
    ($type:ty, $code:ident, $reply:ty) => {
        impl $crate::header::Request for $type {
            const CODE: $crate::codes::RequestCode = $crate::codes::RequestCode::$code;
            type Reply<'a> = $reply;
        }
    };
}

/// The Rust type of a field.
macro_rules! field_type {
    ($lt:lifetime $kind:ident optional) => { Option<$crate::header::macros::field_type!($lt $kind required)> };
    ($lt:lifetime $kind:ident bare) => { Option<$crate::header::macros::field_type!($lt $kind required)> };
    ($lt:lifetime text $presence:ident) => { alloc::borrow::Cow<$lt, str> };
    ($lt:lifetime $kind:ident $presence:ident) => { $kind };
}

/// The entry of a field in the list of fields.
macro_rules! field_spec {
    (@kind text) => { $crate::header::FieldKind::Text };
    (@kind i32) => { $crate::header::FieldKind::I32 };
    (@kind i64) => { $crate::header::FieldKind::I64 };
    (@kind bool) => { $crate::header::FieldKind::Bool };
    (@presence required) => { $crate::header::Presence::Required };
    (@presence optional) => { $crate::header::Presence::Optional };
    (@presence always) => { $crate::header::Presence::Always };
    (@presence bare) => { $crate::header::Presence::Bare };
    ($wire:literal $kind:ident $presence:ident) => {
        $crate::header::FieldSpec::new(
            $wire,
            $crate::header::macros::field_spec!(@kind $kind),
            $crate::header::macros::field_spec!(@presence $presence),
        )
    };
}

/// Writes a field if it is there.
macro_rules! put_field {
    ($value:expr, $wire:literal, $sink:ident, required) => {
        $crate::header::put(&$value, $wire, $sink)
    };
    ($value:expr, $wire:literal, $sink:ident, always) => {
        $crate::header::put(&$value, $wire, $sink)
    };
    ($value:expr, $wire:literal, $sink:ident, $presence:ident) => {
        if let Some(value) = &$value {
            $crate::header::put(value, $wire, $sink);
        }
    };
}

/// Turns the text of a field into its value.
macro_rules! read_field {
    ($text:ident, $wire:literal, required) => {
        $crate::header::required($text, $wire)?
    };
    ($text:ident, $wire:literal, always) => {
        $crate::header::present($text, $wire)?
    };
    ($text:ident, $wire:literal, $presence:ident) => {
        $crate::header::optional($text, $wire)?
    };
}

/// Binds a repetition to a word without using it.
macro_rules! skip {
    ($word:ident) => {};
}

pub(crate) use {field_spec, field_type, header, put_field, read_field, request, skip};
