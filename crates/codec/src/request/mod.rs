//! Typed request headers, one file per family.
