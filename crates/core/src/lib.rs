//! The RocketMQ client as a pure state machine
