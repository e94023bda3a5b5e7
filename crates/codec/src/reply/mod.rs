//! Typed response headers, one file per family.
