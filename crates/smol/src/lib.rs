//! RocketMQ producers and consumers on smol
