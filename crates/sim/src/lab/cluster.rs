//! The cluster of a case: one name server, brokers, members, a producer; and how troubles come over it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use rocketry_broker::{Broker, BrokerConfig, DelayLevels, NameServer, NameServerConfig};
use rocketry_core::{Client, Config};
use rocketry_machine::{Endpoint, Now, Seed};

use super::TOPIC;
use super::hostile::Hostile;
use super::ledger::Ledger;
use super::meddle::{Meddled, Rules};
use super::member::{Member, Mood};
use super::run::Profile;
use super::sender::Sender;
use super::variant::Variant;
use super::{broker_address, broker_name};
use crate::client::ClientNode;
use crate::clock::Skew;
use crate::fault::{Conditions, Fault};
use crate::node::NodeId;
use crate::plan::{Part, What};
use crate::world::World;

/// How long the first members may divide the queues before the first message.
const SETTLING: Duration = Duration::from_secs(20);

/// A cluster and what is being done to it.
pub(crate) struct Cluster {
    pub(crate) world: World,
    pub(crate) ledger: Rc<RefCell<Ledger>>,
    pub(crate) profile: Profile,
    pub(crate) members: Vec<NodeId>,
    pub(crate) sender: NodeId,
    pub(crate) brokers: Vec<NodeId>,
    names: NodeId,
    moods: Vec<Rc<RefCell<Mood>>>,
    rules: BTreeMap<Part, Rc<RefCell<Rules>>>,
    /// Troubles that go on, by number.
    active: BTreeMap<usize, What>,
    /// Members, twins and hostile peers that a trouble brought.
    guests: BTreeMap<usize, NodeId>,
    seed: Seed,
    variant: Variant,
}

fn names_endpoint() -> Endpoint {
    Endpoint::new("10.0.0.1", 9876)
}

/// What makes a client of a case: its identity, its randomness, what it is told.
fn client(id: &str, seed: Seed, now: Now) -> Option<Client> {
    Client::new(Config::new(vec![names_endpoint()], id), seed, now).ok()
}

impl Cluster {
    /// A fresh cluster: every node boots now.
    ///
    /// # Panics
    /// When the settings of its machines cannot be used, which is a mistake of this crate.
    pub(crate) fn new(profile: &Profile, seed: u64, variant: Variant) -> Self {
        let seed = Seed::from(seed);
        let mut world = World::new(seed);
        let ledger = Rc::new(RefCell::new(Ledger::new()));
        let mut rules = BTreeMap::new();
        let names_rules: Rc<RefCell<Rules>> = Rc::default();
        rules.insert(Part::Names, Rc::clone(&names_rules));
        let watch = Rc::clone(&ledger);
        let names = world.add(
            vec![names_endpoint()],
            Skew::default(),
            Box::new(move |now| {
                let machine = NameServer::new(NameServerConfig::new(), now);
                Box::new(Meddled::new(machine, Part::Names, Rc::clone(&names_rules), Rc::clone(&watch)))
            }),
        );
        let mut brokers = Vec::new();
        for number in 0..profile.brokers {
            let own: Rc<RefCell<Rules>> = Rc::default();
            rules.insert(Part::Broker(number), Rc::clone(&own));
            let (watch, queues) = (Rc::clone(&ledger), profile.queues / u32::from(profile.brokers));
            let boot = move |now: Now| -> Box<dyn crate::node::Node> {
                let mut config = BrokerConfig::new(broker_address(number)).with_topic(TOPIC, queues);
                config.name = broker_name(number).into();
                config.delay_levels = DelayLevels::new(vec![Duration::from_secs(1); 18]);
                let config = config.with_name_server(names_endpoint());
                let machine = Broker::new(config, seed, now);
                Box::new(Meddled::new(machine, Part::Broker(number), Rc::clone(&own), Rc::clone(&watch)))
            };
            brokers.push(world.add(vec![broker_address(number).into()], Skew::default(), Box::new(boot)));
        }
        // Clients come once the servers know each other: a member that knows one broker only divides with half the group.
        world.run_for(Duration::from_secs(2));
        let (watch, interval) = (Rc::clone(&ledger), profile.interval);
        let mut boots = 0;
        let sender = world.add(
            Vec::new(),
            Skew::default(),
            Box::new(move |now| {
                boots += 1;
                let id = format!("10.0.3.1@{boots}");
                // The group settles first, so that without troubles nothing comes twice.
                let settling = if boots == 1 { SETTLING } else { Duration::ZERO };
                let client = client(&id, stream_seed(seed, &id), now).unwrap_or_else(|| unreachable!("good settings"));
                variant.node(ClientNode::new(client, Sender::new(Rc::clone(&watch), interval, settling, now)))
            }),
        );
        let mut cluster = Self {
            world,
            ledger,
            profile: profile.clone(),
            members: Vec::new(),
            sender,
            brokers,
            names,
            moods: Vec::new(),
            rules,
            active: BTreeMap::new(),
            guests: BTreeMap::new(),
            seed,
            variant,
        };
        for number in 0..profile.members {
            let mood: Rc<RefCell<Mood>> = Rc::default();
            cluster.moods.push(Rc::clone(&mood));
            let member = cluster.add_member(&format!("10.0.2.{number}"), false, mood);
            cluster.members.push(member);
        }
        cluster
    }

    /// Adds a member of the group. Each boot of it has an id of its own, unless its id is fixed.
    fn add_member(&mut self, id: &str, fixed: bool, mood: Rc<RefCell<Mood>>) -> NodeId {
        let (ledger, seed, variant, id) = (Rc::clone(&self.ledger), self.seed, self.variant, id.to_owned());
        let mut boots = 0;
        let boot = move |now: Now| -> Box<dyn crate::node::Node> {
            boots += 1;
            let own = if fixed { id.clone() } else { format!("{id}@{boots}") };
            let label = format!("{id} boot {boots} {fixed}");
            let client = client(&own, stream_seed(seed, &label), now).unwrap_or_else(|| unreachable!("good settings"));
            variant.node(ClientNode::new(client, Member::new(Rc::clone(&ledger), Rc::clone(&mood), now)))
        };
        self.world.add(Vec::new(), Skew::default(), Box::new(boot))
    }

    /// The node of a part, if the cluster has it.
    pub(crate) fn node(&self, part: Part) -> Option<NodeId> {
        match part {
            Part::Names => Some(self.names),
            Part::Sender => Some(self.sender),
            Part::Broker(number) => self.brokers.get(usize::from(number)).copied(),
            Part::Member(number) => self.members.get(usize::from(number)).copied(),
        }
    }

    /// Members that are there and meant to stay.
    pub(crate) fn each_member<R>(&mut self, mut look: impl FnMut(&mut ClientNode<Member>, Now) -> R) -> Vec<R> {
        let members = self.members.clone();
        members
            .into_iter()
            .filter_map(|node| self.world.with::<ClientNode<Member>, _>(node, |member, now| look(member, now)))
            .collect()
    }

    fn mood(&self, member: u8, change: impl FnOnce(&mut Mood)) {
        if let Some(mood) = self.moods.get(usize::from(member)) {
            change(&mut mood.borrow_mut());
        }
    }

    /// A trouble begins.
    pub(crate) fn begin(&mut self, number: usize, what: What, lasts: Duration) {
        self.active.insert(number, what);
        match what {
            What::Reset(a, b) => {
                if let (Some(a), Some(b)) = (self.node(a), self.node(b)) {
                    self.world.inflict(Fault::Reset { a, b });
                }
            }
            What::Stall(from, to)
            | What::Silence(from, to)
            | What::Swallow(from, to)
            | What::Refuse(from, to)
            | What::Slow(from, to, _)
            | What::Crumble(from, to, _) => self.link(from, to),
            What::Crash(part) => self.inflict(part, |node| Fault::Crash { node, silently: false }),
            What::Vanish(part) => self.inflict(part, |node| Fault::Crash { node, silently: true }),
            What::Kill(part) => self.inflict(part, |node| Fault::Kill { node, silently: false }),
            What::Pause(part) => self.inflict(part, |node| Fault::Pause { node, lasts }),
            What::WallJump(part, ms) => self.inflict(part, |node| Fault::WallJump { node, millis: ms.into() }),
            What::Leave(member) => self.with_member(member, |member, now| member.app.leave(now, &mut member.client)),
            What::Join => {
                let guest = self.add_member(&format!("10.0.4.{number}"), false, Rc::default());
                self.guests.insert(number, guest);
            }
            What::Twin(member) => {
                let guest = self.add_member(&format!("10.0.2.{member}@1"), true, Rc::default());
                self.guests.insert(number, guest);
            }
            What::SlowHandlers(member, ms) => {
                self.mood(member, |mood| mood.slow = Duration::from_millis(ms.into()));
            }
            What::StuckHandlers(member) => self.mood(member, |mood| mood.stuck = true),
            What::FailingHandlers(member) => self.mood(member, |mood| mood.unwilling = true),
            What::Answer(part, ..)
            | What::LoseRequest(part, _)
            | What::LoseAnswer(part, _)
            | What::LateAnswer(part, ..)
            | What::DoubleAnswer(part, _) => {
                if let Some(rules) = self.rules.get(&part) {
                    rules.borrow_mut().active.insert(number, (what, 0));
                }
            }
            What::Trim(broker) => self.trim(broker),
            What::Hostile(part) => self.add_hostile(number, part),
        }
    }

    /// A trouble is over.
    pub(crate) fn end(&mut self, number: usize) {
        let Some(what) = self.active.remove(&number) else { return };
        match what {
            What::Stall(from, to)
            | What::Silence(from, to)
            | What::Swallow(from, to)
            | What::Refuse(from, to)
            | What::Slow(from, to, _)
            | What::Crumble(from, to, _) => self.link(from, to),
            What::Crash(part) | What::Vanish(part) | What::Kill(part) => {
                let down = |what: &What| matches!(what, What::Crash(p) | What::Vanish(p) | What::Kill(p) if *p == part);
                if !self.active.values().any(down) {
                    self.inflict(part, Fault::Boot);
                }
            }
            What::Leave(member) => {
                if !self.active.values().any(|what| *what == What::Leave(member)) {
                    self.with_member(member, |member, now| member.app.come_back(now));
                }
            }
            What::Join | What::Twin(_) | What::Hostile(_) => {
                if let Some(guest) = self.guests.remove(&number) {
                    self.world.inflict(Fault::Crash { node: guest, silently: false });
                }
            }
            What::SlowHandlers(member, _) => self.mood(member, |mood| mood.slow = Duration::ZERO),
            What::StuckHandlers(member) => self.mood(member, |mood| mood.stuck = false),
            What::FailingHandlers(member) => self.mood(member, |mood| mood.unwilling = false),
            What::Answer(part, ..)
            | What::LoseRequest(part, _)
            | What::LoseAnswer(part, _)
            | What::LateAnswer(part, ..)
            | What::DoubleAnswer(part, _) => {
                if let Some(rules) = self.rules.get(&part) {
                    rules.borrow_mut().active.remove(&number);
                }
            }
            What::Reset(..) | What::Pause(_) | What::WallJump(..) | What::Trim(_) => {}
        }
    }

    /// Ends every trouble that goes on.
    pub(crate) fn heal(&mut self) {
        let active: Vec<usize> = self.active.keys().copied().collect();
        for number in active {
            self.end(number);
        }
    }

    fn inflict(&mut self, part: Part, fault: impl FnOnce(NodeId) -> Fault) {
        if let Some(node) = self.node(part) {
            self.world.inflict(fault(node));
        }
    }

    fn with_member(&mut self, number: u8, act: impl FnOnce(&mut ClientNode<Member>, Now)) {
        if let Some(node) = self.node(Part::Member(number)) {
            self.world.with::<ClientNode<Member>, _>(node, act);
        }
    }

    /// Sets the network between two parts to what all troubles that go on make of it.
    fn link(&mut self, from: Part, to: Part) {
        let (Some(a), Some(b)) = (self.node(from), self.node(to)) else { return };
        let mut conditions = Conditions::default();
        for what in self.active.values() {
            match *what {
                What::Stall(f, t) if (f, t) == (from, to) => conditions.stall = true,
                What::Silence(f, t) if (f, t) == (from, to) => conditions.silent = true,
                What::Swallow(f, t) if (f, t) == (from, to) => conditions.swallow = true,
                What::Refuse(f, t) if (f, t) == (from, to) => conditions.refuse = true,
                What::Slow(f, t, ms) if (f, t) == (from, to) => {
                    conditions.jitter = conditions.jitter.max(Duration::from_millis(ms.into()));
                }
                What::Crumble(f, t, bytes) if (f, t) == (from, to) => {
                    conditions.chunk = conditions.chunk.min(bytes.into());
                }
                _ => {}
            }
        }
        self.world.inflict(Fault::Link { from: a, to: b, conditions });
    }

    /// Deletes at a broker what the group's saved positions have passed.
    fn trim(&mut self, number: u8) {
        let Some(node) = self.node(Part::Broker(number)) else { return };
        let name = broker_name(number);
        let saved: Vec<_> = {
            let ledger = self.ledger.borrow();
            let own = ledger.saved.iter().filter(|(queue, _)| queue.broker.as_str() == name);
            own.filter(|(queue, _)| queue.topic.as_str() == TOPIC).map(|(queue, at)| (queue.clone(), *at)).collect()
        };
        for (queue, below) in saved {
            let (id, offset) = (u32::try_from(queue.id).unwrap_or(0), u64::try_from(below).unwrap_or(0));
            self.world.with::<Meddled<Broker>, _>(node, |broker, _| broker.machine.trim(TOPIC, id, offset));
            self.ledger.borrow_mut().trimmed(&queue, below);
        }
    }

    fn add_hostile(&mut self, number: usize, part: Part) {
        let to = match part {
            Part::Broker(number) => broker_address(number).into(),
            Part::Names | Part::Sender | Part::Member(_) => names_endpoint(),
        };
        let seed = self.seed;
        let boot = move |now: Now| -> Box<dyn crate::node::Node> {
            Box::new(Hostile::new(to.clone(), seed.stream(&format!("hostile {number}")), now))
        };
        let guest = self.world.add(Vec::new(), Skew::default(), Box::new(boot));
        self.guests.insert(number, guest);
    }
}

/// The randomness of a client.
fn stream_seed(seed: Seed, label: &str) -> Seed {
    let mut draws = seed.stream(label);
    Seed([draws.next_u64(), draws.next_u64()])
}
