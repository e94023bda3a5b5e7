//! Command headers in both encodings and typed headers over them.
