//! What a consumer tells about itself (wire 5.7, 5.8).

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::body;
use super::heartbeat::Subscription;
use super::queue::QueueName;

body! {
    /// How a consumer stands (answer of 307).
    pub struct RunningInfo {
        jstack: Option<String> = "jstack",
        pop_queues: BTreeMap<QueueName, PopQueueInfo> = "mqPopTable",
        queues: BTreeMap<QueueName, ProcessQueueInfo> = "mqTable",
        properties: BTreeMap<String, String> = "properties",
        status: BTreeMap<String, ConsumeStatus> = "statusTable",
        subscriptions: Vec<Subscription> = "subscriptionSet",
        user_info: BTreeMap<String, String> = "userConsumerInfo",
    }

    /// One pulled queue of a [`RunningInfo`].
    pub struct ProcessQueueInfo {
        cached_count: i32 = "cachedMsgCount",
        cached_max_offset: i64 = "cachedMsgMaxOffset",
        cached_min_offset: i64 = "cachedMsgMinOffset",
        cached_size_mib: i32 = "cachedMsgSizeInMiB",
        commit_offset: i64 = "commitOffset",
        dropped: bool = "droped",
        last_consume_ms: i64 = "lastConsumeTimestamp",
        last_lock_ms: i64 = "lastLockTimestamp",
        last_pull_ms: i64 = "lastPullTimestamp",
        locked: bool = "locked",
        transaction_count: i32 = "transactionMsgCount",
        transaction_max_offset: i64 = "transactionMsgMaxOffset",
        transaction_min_offset: i64 = "transactionMsgMinOffset",
        try_unlock_times: i64 = "tryUnlockTimes",
    }

    /// One popped queue of a [`RunningInfo`].
    pub struct PopQueueInfo {
        dropped: bool = "droped",
        last_pop_ms: i64 = "lastPopTimestamp",
        wait_ack_count: i32 = "waitAckCount",
    }

    /// The rates of one topic of a [`RunningInfo`].
    pub struct ConsumeStatus {
        failed_messages: i64 = "consumeFailedMsgs",
        failed_tps: f64 = "consumeFailedTPS",
        ok_tps: f64 = "consumeOKTPS",
        consume_rt_ms: f64 = "consumeRT",
        pull_rt_ms: f64 = "pullRT",
        pull_tps: f64 = "pullTPS",
    }

    /// What became of a message that was handled on request (answer of 309).
    pub struct ConsumeDirectlyResult {
        auto_commit: bool = "autoCommit" ? true,
        /// `CR_SUCCESS`, `CR_LATER`, `CR_ROLLBACK`, `CR_COMMIT`, `CR_THROW_EXCEPTION` or `CR_RETURN_NULL`.
        result: Option<String> = "consumeResult",
        order: bool = "order",
        remark: Option<String> = "remark",
        spent_ms: i64 = "spentTimeMills",
    }
}
