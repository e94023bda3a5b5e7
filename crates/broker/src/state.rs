//! The state of a broker, and which rule answers which request.
//!
//! Each part of the state is a module that knows nothing of its siblings; the rules (send, pull, retry, membership, ...)
//! are modules that work on the state as a whole, one for each family of requests.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use rocketry_codec::codes::{RequestCode, ResponseCode};
use rocketry_codec::frame::Frame;
use rocketry_codec::ids::{OffsetId, UniqueIdGenerator};
use rocketry_codec::message::property_names as name;
use rocketry_machine::{ConnId, Now, Prng, Seed};

use crate::clients::Clients;
use crate::config::{BrokerConfig, perm};
use crate::delay::Delay;
use crate::event::Event;
use crate::groups::Groups;
use crate::hold::Hold;
use crate::locks::Locks;
use crate::offsets::Offsets;
use crate::pop::Pop;
use crate::registrar::Registrar;
use crate::shell::{Call, ReplyTo, Shell, Timer};
use crate::store::Store;
use crate::topics::{TopicConfig, TopicId, Version};
use crate::transactions::Transactions;
use crate::{admin, membership, pop, positions, properties, pull, queue_locks, retry, schedule, send, transactions};

/// Everything that a broker knows.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) config: BrokerConfig,
    pub(crate) config_version: Version,
    pub(crate) store: Store,
    pub(crate) groups: Groups,
    pub(crate) clients: Clients,
    pub(crate) offsets: Offsets,
    pub(crate) locks: Locks,
    pub(crate) hold: Hold<pull::Parked>,
    pub(crate) delay: Delay,
    pub(crate) pop: Pop,
    pub(crate) registrar: Registrar,
    pub(crate) schedule_topic: TopicId,
    pub(crate) transactions: Transactions,
    pub(crate) half_topic: TopicId,
    pub(crate) rng: Prng,
    /// The store refused its last message for want of room.
    pub(crate) full: bool,
    /// Queues that have grown since the pulls that wait there were last looked at.
    news: BTreeSet<(TopicId, u32)>,
    scratch: String,
    unique_ids: UniqueIdGenerator,
}

impl State {
    pub(crate) fn new(config: BrokerConfig, seed: Seed, shell: &mut Shell) -> Self {
        let now = shell.now;
        let mut store = Store::new(&config, now);
        let levels = u32::from(config.delay_levels.highest());
        let schedule_topic =
            store.topics.put_own(now.wall, topic::SCHEDULE, TopicConfig::new(levels, perm::READ_WRITE));
        let half_topic = store.topics.put_own(now.wall, transactions::HALF, TopicConfig::new(1, perm::READ_WRITE));
        let mut rng = seed.stream("broker");
        let mut state = Self {
            groups: Groups::new(config.auto_create_groups, config.limits.groups),
            clients: Clients::new(config.limits.groups),
            offsets: Offsets::new(config.limits.offsets),
            locks: Locks::new(config.limits.locks),
            hold: Hold::new(config.limits.held_pulls),
            pop: Pop::new(&config.limits),
            delay: Delay::new(config.delay_levels.highest(), now.at),
            registrar: Registrar::new(&config, shell),
            full: false,
            config_version: Version::new(),
            news: BTreeSet::new(),
            scratch: String::new(),
            unique_ids: UniqueIdGenerator::new(
                config.address.ip(),
                low_half(rng.next_u64()),
                low_half(rng.next_u64()),
                0,
            ),
            rng,
            schedule_topic,
            transactions: Transactions::default(),
            half_topic,
            store,
            config,
        };
        state.create_initial_topics(now);
        state
    }

    /// The topics that Apache's broker has from the start, and those of the configuration.
    fn create_initial_topics(&mut self, now: Now) {
        let inherited = perm::READ_WRITE | perm::INHERIT;
        let (cluster, broker) = (self.config.cluster.clone(), self.config.name.clone());
        let mut topics = alloc::vec![
            (String::from(topic::SELF_TEST), TopicConfig::new(1, perm::READ_WRITE)),
            (String::from(topic::BENCHMARK), TopicConfig::new(1_024, perm::READ_WRITE)),
            (String::from(&*cluster), TopicConfig::new(16, inherited)),
            (String::from(&*broker), TopicConfig::new(1, inherited)),
            (String::from(topic::OFFSET_MOVED), TopicConfig::new(1, perm::READ_WRITE)),
            (format!("{cluster}_REPLY_TOPIC"), TopicConfig::new(1, perm::READ_WRITE)),
        ];
        if self.config.auto_create_topics {
            let queues = self.config.default_topic_queues;
            topics.push((String::from(topic::TEMPLATE), TopicConfig::new(queues, inherited)));
        }
        for (topic, config) in topics {
            self.store.topics.put_own(now.wall, &topic, config);
        }
        for spec in core::mem::take(&mut self.config.topics) {
            self.store.topics.put(now.wall, &spec.name, TopicConfig::from(&spec));
        }
    }

    /// Answers one request.
    pub(crate) fn on_request(&mut self, shell: &mut Shell, call: &Call<'_>) {
        match call.frame.request_code() {
            RequestCode::SEND_MESSAGE | RequestCode::SEND_MESSAGE_V2 | RequestCode::SEND_BATCH_MESSAGE => {
                send::handle(self, shell, call);
            }
            RequestCode::PULL_MESSAGE | RequestCode::LITE_PULL_MESSAGE => pull::handle(self, shell, call),
            RequestCode::END_TRANSACTION => transactions::end(self, shell, call),
            RequestCode::CONSUMER_SEND_MSG_BACK => retry::send_back(self, shell, call),
            RequestCode::QUERY_CONSUMER_OFFSET => positions::query(self, shell, call),
            RequestCode::UPDATE_CONSUMER_OFFSET => positions::update(self, shell, call),
            RequestCode::SEARCH_OFFSET_BY_TIMESTAMP => positions::search(self, shell, call),
            RequestCode::GET_MAX_OFFSET => positions::max(self, shell, call),
            RequestCode::GET_MIN_OFFSET => positions::min(self, shell, call),
            RequestCode::GET_EARLIEST_MSG_STORETIME => positions::earliest(self, shell, call),
            RequestCode::HEART_BEAT => membership::heartbeat(self, shell, call),
            RequestCode::UNREGISTER_CLIENT => membership::unregister(self, shell, call),
            RequestCode::CHECK_CLIENT_CONFIG => membership::check_config(self, shell, call),
            RequestCode::GET_CONSUMER_LIST_BY_GROUP => membership::list(self, shell, call),
            RequestCode::LOCK_BATCH_MQ => queue_locks::lock(self, shell, call),
            RequestCode::UNLOCK_BATCH_MQ => queue_locks::unlock(self, shell, call),
            RequestCode::POP_MESSAGE
            | RequestCode::PEEK_MESSAGE
            | RequestCode::NOTIFICATION
            | RequestCode::POLLING_INFO
            | RequestCode::ACK_MESSAGE
            | RequestCode::BATCH_ACK_MESSAGE
            | RequestCode::CHANGE_MESSAGE_INVISIBLETIME
            | RequestCode::QUERY_ASSIGNMENT
            | RequestCode::SET_MESSAGE_REQUEST_MODE => pop::handle(self, shell, call),
            _ => admin::handle(self, shell, call),
        }
    }

    /// A connection is gone.
    pub(crate) fn on_closed(&mut self, shell: &mut Shell, conn: ConnId) {
        self.hold.close(conn);
        self.pop.close(conn);
        membership::on_closed(self, shell, conn);
    }

    /// Drops the members that have been silent too long; the connections to close.
    pub(crate) fn on_idle_scan(&mut self, shell: &Shell) -> Vec<ConnId> {
        self.clients.expire(shell.now.at)
    }

    /// A timer fired.
    pub(crate) fn on_timer(&mut self, shell: &mut Shell, timer: Timer) {
        match timer {
            Timer::Wake => {
                for (topic, queue) in core::mem::take(&mut self.news) {
                    pull::on_news(self, shell, topic, queue);
                    pop::on_news(self, shell, topic);
                }
            }
            Timer::Pop => pop::on_timer(self, shell),
            Timer::Hold => pull::on_scan(self, shell),
            Timer::Transactions => transactions::on_check(self, shell),
            Timer::Delay(level) => schedule::on_level(self, shell, level),
            Timer::Register => self.registrar.on_period(&self.config, &self.store.topics, shell),
            Timer::Link(link) => self.registrar.on_link_timer(shell, link),
            Timer::Brokers | Timer::Idle | Timer::Fault => {}
        }
    }

    /// A queue has grown. Pulls that wait there are looked at once the inputs of this moment are through.
    pub(crate) fn news(&mut self, shell: &mut Shell, topic: TopicId, queue: u32) {
        let awaited = self.hold.waits_at(topic, queue) || self.pop.somebody_waits();
        if awaited && self.news.insert((topic, queue)) && self.news.len() == 1 {
            shell.timers.set(shell.now.at, Timer::Wake, shell.now.at);
        }
    }

    /// The topic of this name, created with `config` if it does not exist; `None` when there are too many.
    pub(crate) fn create_topic(&mut self, shell: &mut Shell, name: &str, config: TopicConfig) -> Option<TopicId> {
        if let Some(id) = self.store.topics.find(name) {
            return Some(id);
        }
        let config = TopicConfig { read_queues: self.bounded(config.read_queues), ..config };
        let config = TopicConfig { write_queues: self.bounded(config.write_queues), ..config };
        let id = self.store.topics.put(shell.now.wall, name, config)?;
        shell.event(Event::TopicCreated { topic: name.into() });
        Some(id)
    }

    fn bounded(&self, queues: u32) -> u32 {
        queues.min(self.config.limits.queues_per_topic)
    }

    /// Appends what the broker adds to every message.
    pub(crate) fn push_own_properties(&self, out: &mut String) {
        properties::push(out, name::MSG_REGION, &self.config.region);
        properties::push(out, name::TRACE_ON, if self.config.trace_on { "true" } else { "false" });
        properties::push(out, name::CLUSTER, &self.config.cluster);
    }

    /// The offset message id of a record.
    pub(crate) const fn offset_id(&self, log_offset: u64) -> OffsetId {
        OffsetId { host: self.config.address, offset: log_offset.cast_signed() }
    }

    /// A unique id for a message whose sender gave none.
    pub(crate) fn unique_id(&mut self, now: Now) -> String {
        format!("{}", self.unique_ids.next_id(now.wall.get()))
    }

    /// An empty text whose memory is reused; give it back with [`State::put_scratch`].
    pub(crate) fn take_scratch(&mut self) -> String {
        core::mem::take(&mut self.scratch)
    }

    pub(crate) fn put_scratch(&mut self, mut text: String) {
        text.clear();
        self.scratch = text;
    }

    /// Sends an answer once the name servers know the topics that were created for it.
    pub(crate) fn after_announcement(&mut self, shell: &mut Shell, to: ReplyTo, frame: Frame) {
        self.registrar.announce(&self.config, &mut self.store.topics, shell);
        self.registrar.after_announcement(shell, to, frame);
    }

    /// Announces topics that have changed.
    pub(crate) fn settle(&mut self, shell: &mut Shell) {
        if self.store.topics.has_changed() {
            self.registrar.announce(&self.config, &mut self.store.topics, shell);
        }
    }
}

/// Half of a random number, where 32 bits are wanted.
fn low_half(word: u64) -> u32 {
    u32::try_from(word >> 32).unwrap_or(0)
}

/// Refuses a request code that nothing here serves.
pub(crate) fn unsupported(shell: &mut Shell, call: &Call<'_>) {
    let remark = format!(" request type {} not supported", call.frame.code());
    shell.refuse(call.to, ResponseCode::REQUEST_CODE_NOT_SUPPORTED, &remark);
}

/// Names of topics that a broker has from the start.
pub(crate) mod topic {
    pub(crate) const BENCHMARK: &str = "BenchmarkTest";
    pub(crate) const OFFSET_MOVED: &str = "OFFSET_MOVED_EVENT";
    pub(crate) const SCHEDULE: &str = "SCHEDULE_TOPIC_XXXX";
    pub(crate) const SELF_TEST: &str = "SELF_TEST_TOPIC";
    pub(crate) const TEMPLATE: &str = "TBW102";
}
