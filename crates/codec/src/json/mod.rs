//! A tolerant JSON reader and a canonical writer.
