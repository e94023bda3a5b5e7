//! Bytes to frames: the length prefix, its limits and what other protocols look like.
