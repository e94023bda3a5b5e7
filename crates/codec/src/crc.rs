//! The checksum of message bodies.
