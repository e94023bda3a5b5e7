//! Identifiers of messages, clients and transactions.
