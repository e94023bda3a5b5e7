//! Running a case: troubles, healing, convergence, farewell.

use std::collections::BTreeMap;
use std::time::Duration;

use rocketry_machine::Moment;

use super::Cluster;
use super::member::{Member, STOP};
use super::variant::Variant;
use crate::check::{self, Violation};
use crate::client::ClientNode;
use crate::plan::{Plan, Trouble};

/// The shape of the cases: how large the cluster is, how much it has to do, how long troubles come.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Profile {
    /// Its name.
    pub name: &'static str,
    /// Brokers, each in a node of its own.
    pub brokers: u8,
    /// Members of the consumer group.
    pub members: u8,
    /// Queues of the topic, divided evenly over the brokers.
    pub queues: u32,
    /// The time between two messages.
    pub interval: Duration,
    /// How long troubles begin and messages are sent.
    pub troubled: Duration,
    /// How long convergence may take afterwards.
    pub healing: Duration,
}

impl Profile {
    /// One name server, 2 brokers, 4 members, 16 queues, 20 messages a second; 5 minutes of troubles, at most 3 of healing.
    #[must_use]
    pub const fn standard() -> Self {
        Self {
            name: "standard",
            brokers: 2,
            members: 4,
            queues: 16,
            interval: Duration::from_millis(50),
            troubled: crate::plan::CHAOS,
            healing: Duration::from_secs(180),
        }
    }

    /// The same, with as little to do as shows anything: for many cases in little time.
    #[must_use]
    pub const fn small() -> Self {
        let standard = Self::standard();
        Self { name: "small", queues: 8, interval: Duration::from_millis(500), ..standard }
    }

    /// The profile of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::standard(), Self::small()].into_iter().find(|profile| profile.name == name)
    }
}

/// How a case ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// What was broken, in the order in which it was noticed.
    pub violations: Vec<Violation>,
    /// Virtual time that passed.
    pub virtual_time: Duration,
    /// Messages that a broker acknowledged.
    pub messages: u64,
    /// Messages that were handled more than once.
    pub duplicates: u64,
    /// How often each kind of trouble happened.
    pub troubles: BTreeMap<&'static str, u64>,
    /// A hash over everything that happened: equal for equal runs.
    pub trace_hash: u64,
    /// Events of the world.
    pub steps: u64,
}

/// How long nothing is sent before the cluster counts as idle, and is watched.
const QUIET: Duration = Duration::from_secs(30);

/// Runs the case of a plan.
#[must_use]
pub fn run(profile: &Profile, plan: &Plan) -> Report {
    run_variant(profile, plan, Variant::default())
}

/// Runs the case of a plan with clients that have a mistake.
#[cfg(feature = "broken")]
#[must_use]
pub fn run_broken(profile: &Profile, plan: &Plan, broken: super::broken::Broken) -> Report {
    run_variant(profile, plan, Variant { broken: Some(broken) })
}

fn run_variant(profile: &Profile, plan: &Plan, variant: Variant) -> Report {
    let mut cluster = Cluster::new(profile, plan.seed, variant);
    let troubles = be_troubled(&mut cluster, plan);
    cluster.heal();
    cluster.ledger.borrow_mut().sending = false;
    if converge(&mut cluster) {
        watch_quiet(&mut cluster);
        say_goodbye(&mut cluster);
    }
    check::sound(&mut cluster);
    if plan.troubles.is_empty() {
        check::duplicates(&cluster);
    }
    let ledger = cluster.ledger.borrow();
    Report {
        violations: ledger.violations.clone(),
        virtual_time: cluster.world.now().since(Moment::ZERO),
        messages: ledger.acknowledged.len() as u64,
        duplicates: ledger.handled.values().filter(|times| **times > 1).count() as u64,
        troubles,
        trace_hash: cluster.world.trace_hash(),
        steps: cluster.world.steps(),
    }
}

/// The first phase; how often each kind of trouble happened.
fn be_troubled(cluster: &mut Cluster, plan: &Plan) -> BTreeMap<&'static str, u64> {
    let mut kinds: BTreeMap<&'static str, u64> = BTreeMap::new();
    let mut changes: Vec<(Duration, bool, usize)> = Vec::new();
    for (number, Trouble { at, lasts, .. }) in plan.troubles.iter().enumerate() {
        changes.push((*at, true, number));
        changes.push((*at + *lasts, false, number));
    }
    changes.sort_unstable();
    for (at, begins, number) in changes {
        let at = at.min(cluster.profile.troubled);
        cluster.world.run_for(at.saturating_sub(cluster.world.now().since(Moment::ZERO)));
        let Some(trouble) = plan.troubles.get(number) else { continue };
        if begins {
            *kinds.entry(trouble.what.kind()).or_default() += 1;
            cluster.begin(number, trouble.what, trouble.lasts);
        } else {
            cluster.end(number);
        }
        check::sound(cluster);
    }
    let left = cluster.profile.troubled.saturating_sub(cluster.world.now().since(Moment::ZERO));
    cluster.world.run_for(left);
    kinds
}

/// The second phase: whether everything came right in time.
fn converge(cluster: &mut Cluster) -> bool {
    let end = cluster.world.now() + cluster.profile.healing;
    loop {
        cluster.world.run_for(Duration::from_secs(1));
        let open = check::undelivered(cluster).or_else(|| check::owners(cluster));
        let open = open.or_else(|| check::membership(cluster));
        let Some(what) = open else { return true };
        if cluster.world.now() >= end {
            let within = cluster.profile.healing.as_secs();
            cluster.ledger.borrow_mut().violate("converges", format!("not within {within} s: {what}"));
            return false;
        }
    }
}

/// A cluster with nothing to do does little, keeps its owners, and agrees on who is in the group.
fn watch_quiet(cluster: &mut Cluster) {
    cluster.world.run_for(QUIET);
    let before = cluster.ledger.borrow().requests;
    cluster.world.run_for(QUIET);
    check::idle(cluster, before, QUIET);
    if let Some(what) = check::owners(cluster) {
        cluster.ledger.borrow_mut().violate("owners", what);
    }
    if let Some(what) = check::membership(cluster) {
        cluster.ledger.borrow_mut().violate("membership", what);
    }
}

/// Everybody leaves in order, in time, and leaves nothing.
fn say_goodbye(cluster: &mut Cluster) {
    let nodes = cluster.members.clone();
    for node in &nodes {
        cluster.world.with::<ClientNode<Member>, _>(*node, |member, now| member.app.leave(now, &mut member.client));
    }
    cluster.world.run_for(STOP + Duration::from_secs(1));
    check::farewell(cluster);
    check::forgotten(cluster);
    // Brokers answer the last long polls in their own time.
    cluster.world.run_for(Duration::from_millis(31_500));
    check::nothing_left(cluster);
    check::saved(cluster);
}
