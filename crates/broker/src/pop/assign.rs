//! QUERY_ASSIGNMENT and SET_MESSAGE_REQUEST_MODE (`spec/broker.md` 9.9): how groups read topics, and who gets which
//! queue.
//!
//! The queues are those of this broker: it does not ask name servers for those of others.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use rocketry_codec::body::JsonBody;
use rocketry_codec::body::assignment::{Assignment, AssignmentReply, QueryAssignment, SetRequestMode};
use rocketry_codec::body::queue::QueueName;
use rocketry_codec::codes::ResponseCode;
use rocketry_codec::names;

use crate::shell::{Call, FAQ, Shell};
use crate::state::State;

const POP: &str = "POP";
const PULL: &str = "PULL";

/// How a group reads a topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Mode {
    pop: bool,
    /// With how many of the members behind it a member shares its queues when it pops; all up to 0.
    share: i32,
}

/// The modes that were set, by topic and group. They are bounded by the topics and groups that exist.
#[derive(Debug, Default)]
pub(super) struct Modes(BTreeMap<(Arc<str>, Arc<str>), Mode>);

/// SET_MESSAGE_REQUEST_MODE.
pub(super) fn set_mode(state: &mut State, shell: &mut Shell, call: &Call<'_>) {
    let request = match SetRequestMode::decode(call.frame.body()) {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    let (topic, group) = (&*request.topic, &*request.consumer_group);
    if names::is_retry_topic(topic) {
        return shell.refuse(call.to, ResponseCode::NO_PERMISSION, "retry topic is not allowed to set mode");
    }
    if state.store.topics.find(topic).is_none() {
        let remark = format!("topic[{topic}] not exist, apply first please! {FAQ}");
        return shell.refuse(call.to, ResponseCode::TOPIC_NOT_EXIST, &remark);
    }
    if state.groups.get(group).is_none() {
        let remark = format!("subscription group [{group}] does not exist, {FAQ}");
        return shell.refuse(call.to, ResponseCode::SUBSCRIPTION_GROUP_NOT_EXIST, &remark);
    }
    let mode = Mode { pop: request.mode == POP, share: request.pop_share_queue_num };
    state.pop.modes.0.insert((topic.into(), group.into()), mode);
    shell.respond_ok(call.to);
}

/// QUERY_ASSIGNMENT.
pub(super) fn query(state: &State, shell: &mut Shell, call: &Call<'_>) {
    let request = match QueryAssignment::decode(call.frame.body()) {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    let key = (Arc::from(&*request.topic), Arc::from(&*request.consumer_group));
    let mode = state.pop.modes.0.get(&key).copied().filter(|_| !names::is_retry_topic(&request.topic));
    let mode = mode.unwrap_or_default();
    let assignments = queues(state, &request, mode).map(|queues| {
        let broker = state.config.name.as_ref();
        let entry = |queue_id: i32| Assignment {
            queue: Some(QueueName { topic: request.topic.clone(), broker_name: broker.into(), queue_id }),
            mode: String::from(if mode.pop { POP } else { PULL }),
            ..Assignment::default()
        };
        queues.into_iter().map(entry).collect()
    });
    shell.respond_body(call.to, AssignmentReply { assignments }.encode());
}

/// The queues of a member; `None` when it should keep what it has.
fn queues(state: &State, request: &QueryAssignment, mode: Mode) -> Option<Vec<i32>> {
    let count = state.store.topics.named(&request.topic)?.config.read_queues;
    let all: Vec<i32> = (0..i32::try_from(count).unwrap_or(i32::MAX)).collect();
    if request.message_model == "BROADCASTING" {
        return Some(all);
    }
    let mut members: Vec<&str> =
        state.clients.consumer(&request.consumer_group)?.members.values().map(|member| &*member.client).collect();
    members.sort_unstable();
    members.dedup();
    let at = members.iter().position(|member| *member == request.client_id)?;
    let circle = match &*request.strategy_name {
        "AVG" => false,
        "AVG_BY_CIRCLE" => true,
        _ => return None,
    };
    let share = usize::try_from(mode.share).unwrap_or(0);
    if !mode.pop {
        return Some(own(&all, members.len(), at, circle));
    }
    if share == 0 || share >= members.len().saturating_sub(1) {
        return Some(vec![-1]);
    }
    let mut shared: Vec<i32> =
        (0..=share).flat_map(|next| own(&all, members.len(), (at + next) % members.len(), circle)).collect();
    shared.sort_unstable();
    shared.dedup();
    Some(shared)
}

/// The share of the member at `at`.
fn own(all: &[i32], members: usize, at: usize, circle: bool) -> Vec<i32> {
    if circle {
        return all.iter().copied().skip(at).step_by(members.max(1)).collect();
    }
    let (least, more) = (all.len() / members.max(1), all.len() % members.max(1));
    let begin = at * least + at.min(more);
    all.iter().copied().skip(begin).take(least + usize::from(at < more)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_of_the_strategies() {
        let all: Vec<i32> = (0..7).collect();
        let shares = |circle| (0..3).map(|at| own(&all, 3, at, circle)).collect::<Vec<_>>();
        assert_eq!(shares(false), [vec![0, 1, 2], vec![3, 4], vec![5, 6]]);
        assert_eq!(shares(true), [vec![0, 3, 6], vec![1, 4], vec![2, 5]]);
        assert_eq!(own(&all, 9, 8, false), [] as [i32; 0]);
    }
}
