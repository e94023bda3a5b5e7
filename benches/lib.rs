//! The project's benches.
