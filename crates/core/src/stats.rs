//! Counters of the client, readable by the application.

/// What happened since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Counters {
    /// Sends that a broker acknowledged.
    pub sent: u64,
    /// Sends that failed.
    pub send_failed: u64,
    /// Attempts beyond the first one.
    pub send_retried: u64,
    /// Pull requests that were sent.
    pub pulls: u64,
    /// Messages that arrived.
    pub pulled: u64,
    /// Messages whose handler succeeded.
    pub consumed: u64,
    /// Messages that were sent back.
    pub sent_back: u64,
    /// Records that could not be decoded.
    pub undecodable: u64,
    /// Positions outside their queue that were repaired.
    pub offsets_corrected: u64,
    /// Divisions of queues that changed something.
    pub rebalances: u64,
    /// Connections that were asked for.
    pub connects: u64,
    /// Notices that were dropped because nobody polled them.
    pub notices_dropped: u64,
    /// Questions about transactions that no producer here could be asked.
    pub checks_unanswered: u64,
    /// Trace records that could not be sent.
    pub traces_dropped: u64,
    /// Answers that nobody waited for.
    pub stray_replies: u64,
}
