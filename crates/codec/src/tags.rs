//! Tag expressions and tag hashes.
