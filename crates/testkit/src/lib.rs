//! Golden values, generators, fuzz bodies, scenarios and real peers for tests.

#![forbid(unsafe_code)]

pub mod bodies;
pub mod fuzz;
pub mod harness;
pub mod peers;
pub mod scenario;
pub mod vectors;
