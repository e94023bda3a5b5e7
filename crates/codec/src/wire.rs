//! A pure wire: bytes in, frames out; frames in, segments to write.
