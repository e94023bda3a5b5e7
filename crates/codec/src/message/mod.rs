//! Stored messages, batches and properties.
