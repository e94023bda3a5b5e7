//! Answers. Topics (wire 4.14).

use crate::header::macros::header;

header! {
    /// Nothing; the topics are in the body (wire 4.14).
    pub struct GetAllTopicConfigReply: "GetAllTopicConfigResponseHeader";
}
