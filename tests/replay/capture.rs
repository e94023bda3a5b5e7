//! A recorded conversation as exchanges, and what must have been in the broker before it began.

use std::collections::BTreeMap;

use bytes::Bytes;
use rocketry_codec::codes::RequestCode;
use rocketry_codec::message::{Messages, PropertiesView, property_names as name};
use rocketry_codec::request::{
    ConsumerSendMsgBack, EndTransaction, GetRouteInfo, PullMessage, QueryConsumerOffset, SendMessageV2,
};
use rocketry_codec::{Frame, Limits};
use rocketry_testkit::vectors::{hex, load, number};
use serde_json::Value;

/// Requests that the embedded servers do not serve as Apache's do, and why.
pub(crate) const SKIPPED: &[(RequestCode, &str)] = &[
    (RequestCode::END_TRANSACTION, "transactions are refused; a commit is played as a plain send"),
    (RequestCode::SEND_REPLY_MESSAGE_V2, "replies are not served"),
    (RequestCode::QUERY_MESSAGE, "there is no index by key"),
    (RequestCode::GET_BROKER_RUNTIME_INFO, "there are no statistics"),
    (RequestCode::GET_BROKER_CONFIG, "there is no configuration text"),
    (RequestCode::GET_ALL_TOPIC_LIST_FROM_NAMESERVER, "the recorded broker has topics of other runs"),
];

/// A queue of a topic.
pub(crate) type Queue = (String, i32);

/// One request with its answer, if it has one.
pub(crate) struct Exchange {
    pub(crate) ms: u64,
    pub(crate) connection: i64,
    pub(crate) request: Frame,
    pub(crate) answer: Option<Frame>,
    /// How many requests had been made when the answer came.
    answered: usize,
}

/// A whole conversation.
pub(crate) struct Capture {
    pub(crate) exchanges: Vec<Exchange>,
    /// How often each connection was told of a change of members.
    pub(crate) told: BTreeMap<i64, usize>,
    pub(crate) end_ms: u64,
    /// Topics that existed before, with their queues.
    pub(crate) topics: BTreeMap<String, u32>,
    /// How many messages each queue held before.
    pub(crate) filled: BTreeMap<Queue, i64>,
    /// The positions of groups from before.
    pub(crate) positions: BTreeMap<(String, Queue), i64>,
    /// The unique id of each message by its place in the recorded log.
    pub(crate) unique_ids: BTreeMap<i64, String>,
}

impl Exchange {
    /// Why the answer is not compared.
    pub(crate) fn skipped(&self) -> Option<&'static str> {
        let code = self.request.request_code();
        if let Some((_, why)) = SKIPPED.iter().find(|(skipped, _)| *skipped == code) {
            return Some(why);
        }
        self.half_message().map(|_| "transactions are refused")
    }

    /// The request as a send of a half message.
    pub(crate) fn half_message(&self) -> Option<SendMessageV2<'_>> {
        self.send().filter(|send| property(send, name::TRANSACTION_PREPARED).is_some())
    }

    /// The request as a send.
    pub(crate) fn send(&self) -> Option<SendMessageV2<'_>> {
        let code = self.request.request_code();
        let sends = [RequestCode::SEND_MESSAGE_V2, RequestCode::SEND_BATCH_MESSAGE].contains(&code);
        sends.then(|| self.request.read().expect("a send header"))
    }

    /// Whether the request sends a delayed message.
    pub(crate) fn delayed(&self) -> bool {
        self.send().is_some_and(|send| property(&send, name::DELAY_LEVEL).is_some())
    }

    /// Whether the request asks for the route of a topic that has one.
    pub(crate) fn is_route(&self) -> bool {
        self.request.request_code() == RequestCode::GET_ROUTEINFO_BY_TOPIC
    }

    pub(crate) fn describe(&self) -> String {
        format!("{} ms, connection {}, {:?}", self.ms, self.connection, self.request)
    }
}

/// A property of a message that is sent.
pub(crate) fn property(send: &SendMessageV2<'_>, name: &str) -> Option<String> {
    let text = send.properties.as_deref().unwrap_or_default();
    PropertiesView::new(text.as_bytes()).get(name).map(str::to_owned)
}

fn topic_queue(topic: &str, queue: i32) -> Queue {
    (topic.to_owned(), queue)
}

impl Capture {
    pub(crate) fn load(file: &str) -> Self {
        let mut capture = Self {
            exchanges: Vec::new(),
            told: BTreeMap::new(),
            end_ms: 0,
            topics: BTreeMap::new(),
            filled: BTreeMap::new(),
            positions: BTreeMap::new(),
            unique_ids: BTreeMap::new(),
        };
        let mut open: BTreeMap<(i64, i32), usize> = BTreeMap::new();
        for line in load(file) {
            capture.take(&line, &mut open);
        }
        capture.look_back();
        capture
    }

    fn take(&mut self, line: &Value, open: &mut BTreeMap<(i64, i32), usize>) {
        let frame = Frame::decode(Bytes::from(hex(&line["frame"])), &Limits::DEFAULT).expect("a frame");
        let connection = number(&line["connection"]).expect("a connection");
        let ms = number(&line["ms"]).expect("a time").unsigned_abs();
        self.end_ms = self.end_ms.max(ms);
        let from_client = line["direction"].as_str().is_some_and(|direction| direction.starts_with("client"));
        match (from_client, frame.is_response()) {
            (true, false) => {
                open.insert((connection, frame.opaque()), self.exchanges.len());
                self.exchanges.push(Exchange { ms, connection, request: frame, answer: None, answered: 0 });
            }
            (false, true) => {
                for message in Messages::new(frame.body().clone()).map_while(Result::ok) {
                    if let Some(id) = message.unique_key() {
                        self.unique_ids.insert(message.commit_log_offset(), id.to_owned());
                    }
                }
                if let Some(at) = open.remove(&(connection, frame.opaque())) {
                    self.exchanges[at].answered = self.exchanges.len();
                    self.exchanges[at].answer = Some(frame);
                }
            }
            (false, false) if frame.request_code() == RequestCode::NOTIFY_CONSUMER_IDS_CHANGED => {
                *self.told.entry(connection).or_default() += 1;
            }
            _ => {}
        }
    }

    /// What the first answer about each thing says of the time before.
    fn look_back(&mut self) {
        for exchange in &self.exchanges {
            if exchange.request.request_code() == RequestCode::QUERY_CONSUMER_OFFSET && exchange.answer.is_some() {
                let query: QueryConsumerOffset<'_> = exchange.request.read().expect("a query");
                let key = (query.consumer_group.into_owned(), topic_queue(&query.topic, query.queue_id));
                self.positions.entry(key).or_insert(exchange.field("offset").unwrap_or(NO_POSITION));
            } else if exchange.is_route() {
                let route: GetRouteInfo<'_> = exchange.request.read().expect("a route request");
                self.topics.entry(route.topic.into_owned()).or_insert(exchange.queues_of_route().unwrap_or(0));
            }
        }
        self.positions.retain(|_, offset| *offset != NO_POSITION);
        self.topics.retain(|_, queues| *queues > 0);
        let appended = self.appended();
        let before = |queue: &Queue, at: usize| -> i64 {
            appended.iter().filter(|(when, into, _)| *when < at && into == queue).map(|(_, _, count)| count).sum()
        };
        let mut evidence = self.evidence();
        evidence.sort();
        for (at, queue, held) in evidence {
            let held = held - before(&queue, at);
            self.filled.entry(queue).or_insert(held);
        }
    }

    /// Which request put how many messages into which queue.
    fn appended(&self) -> Vec<(usize, Queue, i64)> {
        let mut halves: BTreeMap<String, Queue> = BTreeMap::new();
        let mut appended = Vec::new();
        for (at, exchange) in self.exchanges.iter().enumerate() {
            if let Some(send) = exchange.send() {
                let queue = topic_queue(&send.topic, send.queue_id);
                if exchange.half_message().is_some() {
                    halves.insert(property(&send, name::UNIQUE_KEY).unwrap_or_default(), queue);
                } else if !exchange.delayed() {
                    let ids = exchange.answer.as_ref().and_then(|answer| answer.field("msgId"));
                    let count = ids.map_or(1, |ids| ids.split(',').count());
                    appended.push((at, queue, i64::try_from(count).expect("few")));
                }
            } else if let Some(queue) = exchange.commit().and_then(|id| halves.get(&id)) {
                appended.push((at, queue.clone(), 1));
            }
        }
        appended
    }

    /// How many messages an answer says that a queue held, and when it was given.
    fn evidence(&self) -> Vec<(usize, Queue, i64)> {
        let mut evidence = Vec::new();
        for (at, exchange) in self.exchanges.iter().enumerate() {
            let said = if let Some(send) = exchange.send().filter(|_| !exchange.delayed()) {
                let plain = exchange.half_message().is_none();
                let offset = exchange.field("queueOffset").filter(|_| plain);
                offset.map(|offset| (at, topic_queue(&send.topic, send.queue_id), offset))
            } else if let Some(pull) = exchange.pull() {
                let max = exchange.field("maxOffset");
                max.map(|max| (exchange.answered, topic_queue(&pull.topic, pull.queue_id), max))
            } else {
                None
            };
            evidence.extend(said);
        }
        evidence
    }
}

/// Stands for a group that had no position in a queue.
const NO_POSITION: i64 = i64::MIN;

impl Exchange {
    /// The unique id of the half message that the request commits.
    pub(crate) fn commit(&self) -> Option<String> {
        if self.request.request_code() != RequestCode::END_TRANSACTION {
            return None;
        }
        const COMMIT: i32 = 8;
        let end: EndTransaction<'_> = self.request.read().expect("the end of a transaction");
        (end.commit_or_rollback == COMMIT).then(|| end.msg_id.into_owned())
    }

    /// The request as a pull.
    pub(crate) fn pull(&self) -> Option<PullMessage<'_>> {
        let code = self.request.request_code();
        let pulls = [RequestCode::PULL_MESSAGE, RequestCode::LITE_PULL_MESSAGE].contains(&code);
        pulls.then(|| self.request.read().expect("a pull header"))
    }

    /// The request as one to take a message back.
    pub(crate) fn send_back(&self) -> Option<ConsumerSendMsgBack<'_>> {
        let takes_back = self.request.request_code() == RequestCode::CONSUMER_SEND_MSG_BACK;
        takes_back.then(|| self.request.read().expect("a message to take back"))
    }

    /// A number in the header of the answer.
    fn field(&self, name: &str) -> Option<i64> {
        self.answer.as_ref()?.field(name)?.parse().ok()
    }

    fn queues_of_route(&self) -> Option<u32> {
        let answer = self.answer.as_ref().filter(|answer| answer.code() == 0)?;
        let route: Value = serde_json::from_slice(answer.body()).ok()?;
        route["queueDatas"][0]["readQueueNums"].as_u64()?.try_into().ok()
    }
}
