//! Names of things: cheap to clone, ordered, never interned.

use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The shared text.
            #[must_use]
            pub fn shared(&self) -> Arc<str> {
                Arc::clone(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl From<Arc<str>> for $name {
            fn from(text: Arc<str>) -> Self {
                Self(text)
            }
        }

        impl core::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }
    )+};
}

names! {
    /// The name of a topic.
    Topic,
    /// The name of a producer group or a consumer group.
    Group,
    /// The name of a broker: one name for a master and its slaves.
    BrokerName,
}

/// One queue of a topic. Orders as Java's `MessageQueue`: topic, broker name, queue id (consumer.md 3.2), which is the
/// order that allocation and selection by key depend on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageQueue {
    /// The topic.
    pub topic: Topic,
    /// The broker that holds the queue.
    pub broker: BrokerName,
    /// The queue's number on that broker, from 0.
    pub id: i32,
}

impl MessageQueue {
    /// A queue from its parts.
    #[must_use]
    pub fn new(topic: impl Into<Topic>, broker: impl Into<BrokerName>, id: i32) -> Self {
        Self { topic: topic.into(), broker: broker.into(), id }
    }
}

impl fmt::Display for MessageQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}[{}]", self.topic, self.broker, self.id)
    }
}
