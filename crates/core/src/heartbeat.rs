//! Heartbeats: brokers hear which groups live here, before they see anything else of us.
//!
//! Decides: whom to tell and when. A round tells every known broker address; slaves only when some group consumes
//! (consumer.md 2.5). A new connection to a broker carries a heartbeat as its first frame, so that a restarted broker
//! knows the group before its pulls arrive. A broker that fails does not keep the others from hearing (`cases.md`
//! NET-18). With `heartbeat_v2` a broker that knows the fingerprint of our subscriptions hears no more than that
//! (consumer.md 2.6). Goodbyes (UNREGISTER_CLIENT) go to every standing connection.
//!
//! Timers: `Heartbeat`, one round each interval, counted from the scheduled time.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use bytes::Bytes;
use rocketry_codec::codes::ResponseCode;
use rocketry_codec::frame::Frame;
use rocketry_codec::reply::HeartbeatReply;
use rocketry_codec::request::{Heartbeat as HeartbeatRequest, UnregisterClient};
use rocketry_machine::{ConnId, Endpoint};

use crate::api::{Certainty, Notice, OpError, OpErrorKind};
use crate::calls::Reply;
use crate::cx::{Cx, Farewell, Outgoing, Want};
use crate::links::Obtained;
use crate::timer::TimerKey;
use crate::waiter::Waiter;

/// The heartbeat part.
#[derive(Debug, Default)]
pub(crate) struct Heartbeat {
    outstanding: BTreeSet<ConnId>,
    told: usize,
    answered: usize,
    farewells: Vec<Parting>,
    /// Fingerprints by which the brokers behind these connections know our subscriptions.
    known: BTreeMap<ConnId, i32>,
}

/// A heartbeat that a broker was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Told {
    /// On which connection.
    pub(crate) conn: ConnId,
    /// The fingerprint of what it was told.
    pub(crate) fingerprint: i32,
    /// Whether it was told only that.
    pub(crate) short: bool,
}

#[derive(Debug)]
struct Parting {
    farewell: Farewell,
    outstanding: BTreeSet<ConnId>,
}

impl Heartbeat {
    /// Arms the rounds.
    pub(crate) fn start(&mut self, cx: &mut Cx<'_>) {
        cx.wake_after(TimerKey::Heartbeat, cx.shared.config.heartbeat_interval);
    }

    pub(crate) fn on_timer(&mut self, cx: &mut Cx<'_>) {
        cx.wake_after(TimerKey::Heartbeat, cx.shared.config.heartbeat_interval);
        self.round(cx);
    }

    #[allow(clippy::wildcard_enum_match_arm)] // the others are for other parts
    pub(crate) fn on_want(&mut self, cx: &mut Cx<'_>, want: &Want) {
        match want {
            Want::HeartbeatAll => self.round(cx),
            Want::Unregister(farewell) => self.part(cx, farewell),
            _ => {}
        }
    }

    /// A broker that knows our subscriptions by their fingerprint need not hear them again.
    fn form(&self, cx: &mut Cx<'_>, conn: ConnId) -> Form {
        let shared = &mut *cx.shared;
        if !shared.config.heartbeat_v2 {
            return Form::Full;
        }
        let fingerprint = shared.registry.bodies(&shared.config.client_id, true).fingerprint;
        if self.known.get(&conn) == Some(&fingerprint) { Form::Short } else { Form::Full }
    }

    /// What the answer to a heartbeat says about fingerprints. A broker that does not know the one of a short heartbeat,
    /// as after a restart, is told everything at once (`cases.md` NET-19).
    fn learn(&mut self, cx: &mut Cx<'_>, told: Told, frame: &Frame) {
        let Told { conn, fingerprint, short } = told;
        let reply = frame.read::<HeartbeatReply>().unwrap_or_default();
        let supported = reply.supports_v2 == Some(true);
        if supported && fingerprint != 0 && reply.subscription_changed != Some(true) {
            self.known.insert(conn, fingerprint);
            return;
        }
        self.known.remove(&conn);
        if short {
            tell(cx, conn, Form::Full);
        }
    }

    /// A connection is gone, and with it what its broker knew.
    pub(crate) fn on_link_gone(&mut self, conn: ConnId) {
        self.known.remove(&conn);
    }

    /// A broker answered a heartbeat, or did not.
    pub(crate) fn on_reply(&mut self, cx: &mut Cx<'_>, told: Told, reply: Reply) {
        let conn = told.conn;
        if let Reply::Frame(frame) = &reply
            && cx.shared.config.heartbeat_v2
            && frame.response_code() == ResponseCode::SUCCESS
        {
            self.learn(cx, told, frame);
        }
        let kind = match reply {
            Reply::Frame(frame) if frame.response_code() == ResponseCode::SUCCESS => None,
            Reply::Frame(frame) => Some(OpErrorKind::Broker {
                code: frame.response_code(),
                remark: frame.remark().unwrap_or_default().into(),
            }),
            Reply::TimedOut { after, .. } => Some(OpErrorKind::TimedOut { after }),
            Reply::LinkLost { cause, .. } => {
                let endpoint = cx.shared.links.get(conn).map(|link| link.endpoint().clone());
                endpoint.map(|endpoint| OpErrorKind::Unreachable { endpoint, cause })
            }
        };
        let succeeded = kind.is_none();
        if let Some(kind) = kind {
            let error = OpError::new(kind, Certainty::Unknown);
            let retry_in = Some(cx.shared.config.heartbeat_interval);
            cx.notice(Notice::Trouble { what: "heartbeat", broker: None, error, retry_in });
        }
        if self.outstanding.remove(&conn) {
            self.answered += usize::from(succeeded);
            self.round_over(cx);
        }
    }

    /// A broker took notice of a goodbye, or never will.
    pub(crate) fn on_parted(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        for parting in &mut self.farewells {
            parting.outstanding.remove(&conn);
        }
        self.partings_over(cx);
    }

    fn round(&mut self, cx: &mut Cx<'_>) {
        let consumes = cx.shared.registry.consumes();
        let targets: BTreeSet<Endpoint> = if cx.shared.registry.is_empty() {
            BTreeSet::new()
        } else {
            let all = cx.shared.table.addresses().filter(|(id, _)| consumes || *id == 0);
            all.map(|(_, endpoint)| endpoint.clone()).collect()
        };
        self.told = targets.len();
        self.answered = 0;
        self.outstanding.clear();
        for endpoint in targets {
            match cx.open(&endpoint) {
                // The greeting is this round's heartbeat.
                Ok(Obtained::Fresh(conn)) => {
                    self.outstanding.insert(conn);
                }
                Ok(Obtained::Existing(conn)) => {
                    let form = self.form(cx, conn);
                    if tell(cx, conn, form) {
                        self.outstanding.insert(conn);
                    }
                }
                Err(_) => {}
            }
        }
        self.round_over(cx);
    }

    fn round_over(&self, cx: &mut Cx<'_>) {
        if self.outstanding.is_empty() {
            cx.want(Want::HeartbeatDone { answered: self.answered, told: self.told });
        }
    }

    fn part(&mut self, cx: &mut Cx<'_>, farewell: &Farewell) {
        let brokers: Vec<ConnId> = cx
            .shared
            .links
            .iter()
            .filter(|(_, link)| cx.shared.table.uses(link.endpoint()))
            .map(|(conn, _)| conn)
            .collect();
        let client_id = cx.shared.config.client_id.clone();
        let group = farewell.group.as_str();
        let request = UnregisterClient {
            client_id: client_id.as_str().into(),
            producer_group: farewell.consumer.is_none().then(|| group.into()),
            consumer_group: farewell.consumer.is_some().then(|| group.into()),
            ..UnregisterClient::default()
        };
        let mut outstanding = BTreeSet::new();
        for conn in brokers {
            let how = Outgoing { timeout: cx.shared.config.request_timeout, waiter: Waiter::Unregister(conn) };
            if cx.request_on(conn, &request, Bytes::new(), how).is_ok() {
                outstanding.insert(conn);
            }
        }
        self.farewells.push(Parting { farewell: farewell.clone(), outstanding });
        self.partings_over(cx);
    }

    fn partings_over(&mut self, cx: &mut Cx<'_>) {
        let (over, still): (Vec<_>, Vec<_>) =
            core::mem::take(&mut self.farewells).into_iter().partition(|parting| parting.outstanding.is_empty());
        self.farewells = still;
        for parting in over {
            cx.want(Want::Unregistered(parting.farewell));
        }
    }
}

/// The first frame on a new connection to a broker.
pub(crate) fn greet(cx: &mut Cx<'_>, conn: ConnId, endpoint: &Endpoint) {
    if !cx.shared.registry.is_empty() && cx.shared.table.uses(endpoint) {
        tell(cx, conn, Form::Full);
    }
}

/// What a broker is told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Full,
    Short,
}

fn tell(cx: &mut Cx<'_>, conn: ConnId, form: Form) -> bool {
    let shared = &mut *cx.shared;
    let bodies = shared.registry.bodies(&shared.config.client_id, shared.config.heartbeat_v2);
    let (body, short) = match form {
        Form::Full => (bodies.full.clone(), false),
        Form::Short => (bodies.short.clone(), true),
    };
    let waiter = Waiter::Heartbeat(Told { conn, fingerprint: bodies.fingerprint, short });
    let how = Outgoing { timeout: shared.config.request_timeout, waiter };
    cx.request_on(conn, &HeartbeatRequest::default(), body, how).is_ok()
}
