//! RocketMQ remoting frames, headers, bodies and stored messages
