//! Answers. Clients: heartbeats, and what brokers ask of clients (wire 4.4, 4.5, 4.11).

use crate::header::macros::header;

header! {
    /// Nothing (wire 4.5).
    pub struct UnregisterClientReply: "UnregisterClientResponseHeader";
}

header! {
    /// What the broker says to a heartbeat; absent before 5.1.3 (wire 4.4). The version of the broker is in the frame.
    pub struct HeartbeatReply: "";
    /// Whether the broker takes heartbeats of the second version.
    supports_v2: bool bare = "IS_SUPPORT_HEART_BEAT_V2",
    /// Whether the fingerprint differs from what the broker holds, so that subscriptions must be sent in full.
    subscription_changed: bool bare = "IS_SUB_CHANGE",
}
