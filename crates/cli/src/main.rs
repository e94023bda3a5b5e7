//! The rocketry command.
fn main() {}
