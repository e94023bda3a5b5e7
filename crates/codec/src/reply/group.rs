//! Answers. Groups and locks (wire 4.6, 4.14).

use crate::header::macros::header;

header! {
    /// Nothing; the ids are in the body (wire 4.6).
    pub struct GetConsumerListByGroupReply: "GetConsumerListByGroupResponseHeader";
}
