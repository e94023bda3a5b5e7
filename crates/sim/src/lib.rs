//! A deterministic world of clients, brokers and faults
