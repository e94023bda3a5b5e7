//! Both adapters export the same names with the same bounds: each use below compiles for both, or for neither.

use std::fs;
use std::path::Path;

/// Everything that an application may name, and what it may rely on.
macro_rules! surface {
    ($module:ident, $krate:ident) => {
        mod $module {
            use $krate::{
                Action, Answer, Certainty, Client, ClientBuilder, Commit, ConfigError, Consumer, ConsumerBuilder,
                DelayLevel, Deliveries, Delivery, Driver, Error, LiteConsumer, LiteConsumerBuilder, LiteMessages,
                Message, MessageQueue, Notice, Notices, OpError, OpErrorKind, Producer, ProducerBuilder, Pull,
                PullOnce, PullStatus, QueueChanges, Received, Run, SeekTo, SendReceipt, SendStatus, Sending, StartAt,
                StopReport, Topic,
            };

            fn is_send<T: Send>() {}
            fn is_shared<T: Clone + Send + Sync + std::fmt::Debug + 'static>() {}
            fn is_future<T: Future<Output: Send> + Send + Unpin + 'static>() {}
            fn is_error<T: std::error::Error + Send + Sync + 'static>() {}
            fn is_answer<T: Answer>() {}

            #[test]
            fn names_and_bounds() {
                is_shared::<Client>();
                is_shared::<Producer>();
                is_shared::<Consumer>();
                is_shared::<LiteConsumer>();
                is_shared::<(Commit, Pull, PullOnce, PullStatus, SeekTo)>();
                is_send::<(LiteConsumerBuilder, LiteMessages, QueueChanges)>();
                is_shared::<Message>();
                is_shared::<Received>();
                is_shared::<(MessageQueue, SendReceipt, SendStatus, StopReport, Topic, Notice, Certainty, StartAt)>();
                is_shared::<(OpError, OpErrorKind, Action, DelayLevel)>();
                is_future::<Driver>();
                is_future::<Sending>();
                is_future::<Run<fn(Received) -> std::future::Ready<()>, std::future::Ready<()>>>();
                is_send::<(ClientBuilder, ProducerBuilder, ConsumerBuilder)>();
                is_send::<(Delivery, Deliveries, Notices)>();
                is_error::<Error>();
                is_error::<ConfigError>();
                is_answer::<Result<Action, Error>>();
                is_send::<$krate::server::Listener>();
                is_shared::<$krate::memory::Network>();
            }
        }
    };
}

surface!(tokio, rocketry_tokio);
surface!(smol, rocketry_smol);

#[test]
fn the_lists_of_exports_are_equal_but_for_the_runtime_and_its_name() {
    let exports = |krate: &str, name: &str, types: &str| -> String {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../crates/{krate}/src/lib.rs"));
        let text = fs::read_to_string(path).expect("the adapter's root");
        let code = text.lines().filter(|line| !line.starts_with("//! #") && !line.contains("async fn main"));
        code.filter(|line| !line.contains("block_on"))
            .collect::<Vec<_>>()
            .join("\n")
            .replace(types, "Rt")
            .replace(name, "rt")
    };
    assert_eq!(exports("tokio", "tokio", "Tokio"), exports("smol", "smol", "Smol"));
}
