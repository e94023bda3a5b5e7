//! Asking brokers whether they understand a filter, before a consumer starts with it (consumer.md 1.9).
//!
//! Decides: that a start fails with what the broker says when it does not filter by properties, or cannot read the
//! condition (`cases.md` FIL-03). A broker that says nothing is no reason not to start. Filters by tags are understood
//! everywhere and not asked about.
//!
//! Timers: `StartDeadline`, the longest wait for the answers.

use rocketry_codec::body::JsonBody;
use rocketry_codec::body::heartbeat::CheckClient;
use rocketry_codec::codes::ResponseCode;
use rocketry_codec::request::CheckClientConfig;
use rocketry_machine::{ConnId, Key};

use super::filter::Expression;
use super::group::{Consumer, Phase, Starting, failure_of};
use crate::api::OpId;
use crate::calls::Reply;
use crate::cx::Cx;
use crate::timer::ConsumerTimer;
use crate::waiter::ConsumerCall;

impl Consumer {
    /// Asks about the filters that not every broker understands; whether answers are to be waited for.
    pub(super) fn ask_checks(&mut self, cx: &mut Cx<'_>, op: OpId) -> bool {
        let by_properties = |filter: &Expression| matches!(filter, Expression::Sql(_));
        let mut asked = 0;
        for key in self.subscriptions.ids() {
            let Some(subscription) = self.subscriptions.get(key) else { continue };
            if !by_properties(&subscription.filter) {
                continue;
            }
            let topic = &subscription.topic;
            let Some(to) = cx.shared.table.any_address_of_topic(topic, self.spread.next_u64()) else { continue };
            let body = CheckClient {
                client_id: cx.shared.config.client_id.clone(),
                group: self.config.group.as_str().into(),
                subscription: subscription.told(),
                ..CheckClient::default()
            };
            let how = self.call(cx.shared.config.request_timeout, ConsumerCall::Check(key));
            asked += usize::from(cx.request(&to, &CheckClientConfig::default(), body.encode().into(), how).is_ok());
        }
        if asked > 0 {
            self.phase = Phase::Starting(op, Starting::Checks(asked));
            self.wake_after(cx, ConsumerTimer::StartDeadline, cx.shared.config.request_timeout.saturating_mul(2));
        }
        asked > 0
    }

    /// A broker understands a filter, or does not, or says nothing.
    pub(super) fn on_check(&mut self, cx: &mut Cx<'_>, _: Key, conn: ConnId, reply: &Reply) {
        let Phase::Starting(op, Starting::Checks(left)) = &mut self.phase else { return };
        let op = *op;
        *left = left.saturating_sub(1);
        let over = *left == 0;
        if let Reply::Frame(frame) = reply
            && frame.response_code() != ResponseCode::SUCCESS
        {
            let kind = failure_of(cx, conn, reply);
            self.cancel_timers(cx);
            return self.fail_start(cx, op, kind);
        }
        if over {
            self.run(cx, op);
        }
    }
}
