//! The project's tests.
