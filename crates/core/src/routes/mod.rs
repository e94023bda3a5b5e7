//! Routes: which queues a topic has, and where their brokers are.
//!
//! Decides: when the name servers are asked, which of them, and what a missing route means.
//!
//! A topic in use is *wanted*; a wanted topic has at most one look-up. A look-up asks the name server in use first; when
//! it fails or lacks the topic, the others are asked in the same look-up (`cases.md` NET-10). When all lack it and a
//! producer wants it, the default topic's route stands in (producer.md 2.2). A known route is kept, whatever the name
//! servers say later (NET-11): brokers refuse what has really gone. States of a look-up: *topic* -> *default topic* ->
//! done.
//!
//! Timers: `RoutePoll` asks for every wanted topic again, `RouteRetry` for those that no name server answered for.

mod table;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

use bytes::Bytes;
use rocketry_codec::body::JsonBody;
use rocketry_codec::body::route::TopicRoute;
use rocketry_codec::codes::ResponseCode;
use rocketry_codec::frame::Frame;
use rocketry_codec::header::Scope;
use rocketry_codec::request::GetRouteInfo;
use rocketry_machine::{Endpoint, Key, LinkError, Slab};

pub(crate) use table::{BrokerSlot, PublishQueue, RouteTable};

use crate::api::{Certainty, Notice, OpError, OpErrorKind, OpId, Outcome, Topic};
use crate::calls::Reply;
use crate::cx::{Cx, NotSent, Outgoing, RouteFailure, Want};
use crate::timer::TimerKey;
use crate::waiter::Waiter;

/// The route part.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    wanted: BTreeMap<Topic, Wanted>,
    lookups: Slab<Key, Lookup>,
    unanswered: BTreeSet<Topic>,
    asking: Vec<(OpId, Topic)>,
}

#[derive(Debug, Default)]
struct Wanted {
    lookup: Option<Key>,
    publish: bool,
}

#[derive(Debug)]
struct Lookup {
    topic: Topic,
    stage: Stage,
    left: VecDeque<Endpoint>,
    server: Option<Endpoint>,
    tried: Vec<(Endpoint, LinkError)>,
    remark: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Topic,
    Default,
}

/// The topic whose route stands in for topics that do not exist yet.
const DEFAULT_TOPIC: &str = "TBW102";
const RETRY: Duration = Duration::from_secs(1);

impl Routes {
    /// Arms the poll.
    pub(crate) fn start(&mut self, cx: &mut Cx<'_>) {
        cx.wake_after(TimerKey::RoutePoll, cx.shared.config.route_interval);
    }

    /// The owner wants to know the route of a topic.
    pub(crate) fn ask(&mut self, cx: &mut Cx<'_>, op: OpId, topic: Topic) {
        if cx.shared.table.knows(&topic) && !cx.shared.table.is_fallback(&topic) {
            let queues = cx.shared.table.publish_by_name(&topic);
            cx.done(op, Outcome::Routed(queues));
        } else {
            self.asking.push((op, topic.clone()));
        }
        self.want(cx, topic, false);
    }

    /// The owner gives up an [`Routes::ask`].
    pub(crate) fn cancel(&mut self, cx: &mut Cx<'_>, op: OpId) {
        let before = self.asking.len();
        self.asking.retain(|(asking, _)| *asking != op);
        if self.asking.len() != before {
            cx.done(op, Outcome::Failed(OpError::new(OpErrorKind::Cancelled, Certainty::NotSent)));
        }
    }

    /// Takes a new list of name servers; connections to those that left are ended.
    pub(crate) fn set_name_servers(&mut self, cx: &mut Cx<'_>, servers: Vec<Endpoint>) {
        let old = cx.shared.naming.in_order();
        cx.shared.naming.replace(servers);
        for endpoint in old {
            if !cx.shared.table.uses(&endpoint) {
                cx.retire(&endpoint);
            }
        }
        for topic in core::mem::take(&mut self.unanswered) {
            self.look_up(cx, &topic);
        }
    }

    #[allow(clippy::wildcard_enum_match_arm)] // the others are for other parts
    pub(crate) fn on_want(&mut self, cx: &mut Cx<'_>, want: &Want) {
        match want {
            Want::Route { topic, publish } => self.want(cx, topic.clone(), *publish),
            Want::Refresh(topic) => self.look_up(cx, topic),
            _ => {}
        }
    }

    /// All routes in use are asked for again.
    pub(crate) fn on_poll(&mut self, cx: &mut Cx<'_>) {
        cx.wake_after(TimerKey::RoutePoll, cx.shared.config.route_interval);
        let topics: Vec<Topic> = self.wanted.keys().cloned().collect();
        for topic in topics {
            self.look_up(cx, &topic);
        }
    }

    /// Those that no name server answered for are asked for again.
    pub(crate) fn on_retry(&mut self, cx: &mut Cx<'_>) {
        for topic in core::mem::take(&mut self.unanswered) {
            self.look_up(cx, &topic);
        }
    }

    pub(crate) fn on_reply(&mut self, cx: &mut Cx<'_>, lookup: Key, reply: Reply) {
        let Some(state) = self.lookups.get_mut(lookup) else { return };
        let Some(server) = state.server.take() else { return };
        let failure = match reply {
            Reply::Frame(frame) => return self.on_answer(cx, lookup, &server, &frame),
            Reply::TimedOut { .. } => LinkError::ConnectTimeout,
            Reply::LinkLost { cause, .. } => cause,
        };
        state.tried.push((server.clone(), failure));
        cx.shared.naming.failed(&server);
        self.next_server(cx, lookup);
    }

    fn want(&mut self, cx: &mut Cx<'_>, topic: Topic, publish: bool) {
        let wanted = self.wanted.entry(topic.clone()).or_default();
        wanted.publish |= publish;
        let usable = cx.shared.table.knows(&topic) && (publish || !cx.shared.table.is_fallback(&topic));
        if usable {
            cx.want(Want::RouteUpdated(topic));
        } else {
            self.look_up(cx, &topic);
        }
    }

    fn look_up(&mut self, cx: &mut Cx<'_>, topic: &Topic) {
        let wanted = self.wanted.entry(topic.clone()).or_default();
        if wanted.lookup.is_some() {
            return;
        }
        let lookup = self.lookups.insert(Lookup {
            topic: topic.clone(),
            stage: Stage::Topic,
            left: cx.shared.naming.in_order(),
            server: None,
            tried: Vec::new(),
            remark: None,
        });
        wanted.lookup = Some(lookup);
        self.next_server(cx, lookup);
    }

    /// Asks the next name server of this stage; ends the stage when all were asked.
    fn next_server(&mut self, cx: &mut Cx<'_>, lookup: Key) {
        loop {
            let Some(state) = self.lookups.get_mut(lookup) else { return };
            let Some(server) = state.left.pop_front() else { break };
            let topic = match state.stage {
                Stage::Topic => state.topic.as_str(),
                Stage::Default => DEFAULT_TOPIC,
            };
            let request =
                GetRouteInfo { topic: topic.into(), accept_standard_json_only: Some(true), scope: Scope::default() };
            let how = Outgoing { timeout: cx.shared.config.request_timeout, waiter: Waiter::Route(lookup) };
            let cause = match cx.request(&server, &request, Bytes::new(), how) {
                Ok(_) => {
                    state.server = Some(server);
                    return;
                }
                Err(NotSent::NoLink(no)) => no.cause,
                Err(_) => LinkError::Other,
            };
            cx.shared.naming.failed(&server);
            state.tried.push((server, cause));
        }
        self.stage_over(cx, lookup);
    }

    fn on_answer(&mut self, cx: &mut Cx<'_>, lookup: Key, server: &Endpoint, frame: &Frame) {
        let Some(state) = self.lookups.get_mut(lookup) else { return };
        let code = frame.response_code();
        if code != ResponseCode::SUCCESS {
            let text = frame.remark().map(|text| text.to_string()).unwrap_or_default();
            state.remark = Some(alloc::format!("{server} answers {code}: {text}"));
            // The server works but lacks the topic: the choice stays, and this look-up goes on.
            self.next_server(cx, lookup);
            return;
        }
        match TopicRoute::decode(frame.body()) {
            Ok(route) => {
                cx.shared.naming.answered(server);
                self.finish(cx, lookup, route);
            }
            Err(error) => {
                state.remark = Some(alloc::format!("{server} sent a route that cannot be read: {error}"));
                self.next_server(cx, lookup);
            }
        }
    }

    /// All servers were asked at this stage and none had the route.
    fn stage_over(&mut self, cx: &mut Cx<'_>, lookup: Key) {
        let Some(state) = self.lookups.get_mut(lookup) else { return };
        let publish = self.wanted.get(&state.topic).is_some_and(|wanted| wanted.publish);
        let answered = state.remark.is_some();
        if state.stage == Stage::Topic && answered && publish && !cx.shared.table.knows(&state.topic) {
            state.stage = Stage::Default;
            state.left = cx.shared.naming.in_order();
            self.next_server(cx, lookup);
            return;
        }
        let Some(state) = self.close(lookup) else { return };
        let failure = match state.remark {
            Some(remark) => RouteFailure::Unknown(remark),
            None => {
                self.unanswered.insert(state.topic.clone());
                cx.shared.timers.set_no_later(cx.now.at, TimerKey::RouteRetry, cx.now.at + RETRY);
                RouteFailure::NoNameServer(state.tried)
            }
        };
        self.fail_asking(cx, &state.topic, &failure);
        if !cx.shared.table.knows(&state.topic) {
            cx.want(Want::RouteFailed(state.topic, failure));
        }
    }

    fn finish(&mut self, cx: &mut Cx<'_>, lookup: Key, mut route: TopicRoute) {
        let Some(state) = self.close(lookup) else { return };
        let is_fallback = state.stage == Stage::Default;
        if is_fallback {
            route.cap_queues(cx.shared.config.default_topic_queues);
        }
        if !cx.shared.table.knows(&state.topic) && cx.shared.table.topics() >= cx.shared.config.limits.topics {
            let why = alloc::format!("more than {} topics (limits.topics)", cx.shared.config.limits.topics);
            cx.want(Want::RouteFailed(state.topic, RouteFailure::Unknown(why)));
            return;
        }
        let before: BTreeSet<Endpoint> = cx.shared.table.addresses().map(|(_, endpoint)| endpoint.clone()).collect();
        let applied = cx.shared.table.apply(&state.topic, route, is_fallback);
        if applied.changed {
            greet_new(cx, &before);
        }
        for endpoint in &applied.abandoned {
            cx.retire(endpoint);
        }
        if applied.changed {
            cx.notice(Notice::RouteChanged(state.topic.clone()));
            cx.want(Want::RouteUpdated(state.topic.clone()));
        }
        let (ready, still): (Vec<_>, Vec<_>) =
            core::mem::take(&mut self.asking).into_iter().partition(|(_, topic)| *topic == state.topic);
        self.asking = still;
        for (op, topic) in ready {
            let queues = cx.shared.table.publish_by_name(&topic);
            cx.done(op, Outcome::Routed(queues));
        }
    }

    fn close(&mut self, lookup: Key) -> Option<Lookup> {
        let state = self.lookups.remove(lookup)?;
        if let Some(wanted) = self.wanted.get_mut(&state.topic) {
            wanted.lookup = None;
        }
        Some(state)
    }

    fn fail_asking(&mut self, cx: &mut Cx<'_>, topic: &Topic, failure: &RouteFailure) {
        let (failed, still): (Vec<_>, Vec<_>) =
            core::mem::take(&mut self.asking).into_iter().partition(|(_, asked)| asked == topic);
        self.asking = still;
        for (op, topic) in failed {
            let error = OpError::new(failure.kind(&topic), Certainty::NotSent);
            cx.done(op, Outcome::Failed(error));
        }
    }
}

/// Brokers that are new in the routes and that we are connected to already, as to a name server in the same process, hear
/// of us now: a new connection begins with that.
fn greet_new(cx: &mut Cx<'_>, before: &BTreeSet<Endpoint>) {
    let new: Vec<Endpoint> = cx
        .shared
        .table
        .addresses()
        .map(|(_, endpoint)| endpoint.clone())
        .filter(|endpoint| !before.contains(endpoint))
        .collect();
    for endpoint in new {
        if let Some(conn) = cx.shared.links.existing(&endpoint) {
            crate::heartbeat::greet(cx, conn, &endpoint);
        }
    }
}

impl RouteFailure {
    /// The failure as the owner of an operation hears it.
    pub(crate) fn kind(&self, topic: &Topic) -> OpErrorKind {
        match self {
            Self::Unknown(remark) => OpErrorKind::NoRoute { topic: topic.clone(), reason: remark.clone() },
            Self::NoNameServer(tried) => OpErrorKind::NoNameServer { tried: tried.clone() },
        }
    }
}
