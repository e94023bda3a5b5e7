//! RocketMQ producers and consumers on tokio
