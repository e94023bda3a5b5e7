//! The works: which topics they need, how many messages make a run as long as wanted, and each contender's arguments.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::args::Options;
use crate::contender::{Contender, Figures};
use crate::servers::Addresses;
use crate::{Failure, note};

/// Messages sent before anything is measured: a cold JVM answers many times slower.
const WARM_UP: u64 = 200_000;
/// The same for a lone send, which pays a round trip for each.
const WARM_UP_LONE: u64 = 20_000;
/// More messages in a topic than this say nothing new and cost disk: about 4 GB at 128 bytes.
const MOST: u64 = 10_000_000;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Asynchronous sends, 256 unanswered at most.
    Send,
    /// One send at a time.
    Lone,
    /// A backlog read from its first offset.
    Consume,
}

impl Work {
    /// Every work, in the order of the table.
    pub(crate) const ALL: [Self; 3] = [Self::Send, Self::Lone, Self::Consume];

    /// The name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Lone => "lone",
            Self::Consume => "consume",
        }
    }

    /// The work with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|work| work.name() == name)
    }

    /// The heading of its table.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Send => "Send, 256 in flight",
            Self::Lone => "Lone send, one at a time",
            Self::Consume => "Consume, one handler call a message",
        }
    }

    fn in_flight(self) -> u32 {
        if self == Self::Lone { 1 } else { 256 }
    }
}

/// A work made ready: its topic exists, is filled where needed, and the count of a run is known.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    work: Work,
    topic: String,
    count: u64,
    size: usize,
    queues: u32,
    limit: Duration,
}

/// Warms the broker up, measures the floor shortly, and chooses the count so that the floor takes the wanted time.
pub(crate) fn prepare(
    work: Work,
    options: &Options,
    contenders: &[Contender],
    at: &Addresses,
) -> Result<Plan, Failure> {
    let floor = contenders.first().ok_or("no floor")?;
    let stamp = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis();
    let topic = format!("bench-{}-{stamp}", work.name());
    let (warm_up, lone) = if options.smoke { (WARM_UP / 10, WARM_UP_LONE / 10) } else { (WARM_UP, WARM_UP_LONE) };
    let limit = Duration::from_secs_f64(120.0 + options.seconds * 40.0);
    let mut plan = Plan { work, topic, count: warm_up, size: options.size, queues: options.queues, limit };
    let send = Plan { work: Work::Send, ..plan.clone() };
    note(&format!("{}: warming up", work.name()));
    let mut warm = send.run(floor, 0, at)?;
    if work == Work::Lone {
        plan.count = lone;
        warm = plan.run(floor, 0, at)?;
    } else if work == Work::Consume {
        warm = plan.run(floor, 0, at)?;
    } else {
        // The first half met a cold JVM: the second tells the rate.
        warm = if options.smoke { warm } else { send.run(floor, 0, at)? };
    }
    let wanted = warm.get("rate").ok_or("the floor told no rate")? * options.seconds;
    let least = plan.count;
    plan.count = if options.smoke { least } else { messages(wanted).max(least) };
    if work == Work::Consume && plan.count > least {
        note(&format!("consume: filling a topic with {} messages", plan.count));
        Plan { count: plan.count - least, ..send }.run(floor, 0, at)?;
    }
    Ok(plan)
}

/// As many whole messages, at most [`MOST`].
#[allow(clippy::cast_possible_truncation, reason = "the bound keeps the value exact")]
fn messages(wanted: f64) -> u64 {
    wanted.clamp(0.0, MOST as f64) as u64
}

impl Plan {
    /// Messages in one run.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// One run of one contender.
    ///
    /// # Errors
    ///
    /// As [`Contender::run`], and where the run did not do all of its messages.
    pub(crate) fn run(&self, contender: &Contender, round: usize, at: &Addresses) -> Result<Figures, Failure> {
        let figures = contender.run(&self.arguments(contender, round, at), self.limit)?;
        match figures.get("ok") {
            Some(ok) if ok >= self.count as f64 => Ok(figures),
            other => Err(format!("{}: {other:?} of {} messages", contender.name(), self.count).into()),
        }
    }

    fn arguments(&self, contender: &Contender, round: usize, at: &Addresses) -> Vec<String> {
        let (count, size, in_flight) =
            (self.count.to_string(), self.size.to_string(), self.work.in_flight().to_string());
        let queues = self.queues.to_string();
        // A group of its own for each run: each begins at the first offset.
        let group = format!("{}-{round}-{}", self.topic, contender.name().replace(", ", "-"));
        let line: Vec<&str> = match (contender, self.work) {
            (Contender::Floor(_), Work::Consume) => {
                vec!["consume", "--broker", &at.broker, "--topic", &self.topic, "--count", &count, "--queues", &queues]
            }
            (Contender::Floor(_), _) => vec![
                "send",
                "--broker",
                &at.broker,
                "--topic",
                &self.topic,
                "--count",
                &count,
                "--queues",
                &queues,
                "--size",
                &size,
                "--in-flight",
                &in_flight,
            ],
            (Contender::Rocketry { .. }, Work::Consume) => {
                vec!["consume", "-n", &at.name_server, "-t", &self.topic, "-g", &group, "--count", &count]
            }
            (Contender::Rocketry { .. }, _) => vec![
                "produce",
                "-n",
                &at.name_server,
                "-t",
                &self.topic,
                "--count",
                &count,
                "--size",
                &size,
                "--in-flight",
                &in_flight,
            ],
        };
        line.into_iter().map(String::from).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_contender_is_asked_for_the_same_work() {
        let at = Addresses { broker: "b:1".into(), name_server: "n:1".into() };
        let plan =
            |work| Plan { work, topic: "T".into(), count: 9, size: 128, queues: 4, limit: Duration::from_secs(1) };
        let floor = Contender::Floor("floor".into());
        let tokio = Contender::Rocketry { command: "rocketry".into(), runtime: "tokio".into() };
        let line = |work, contender| plan(work).arguments(contender, 2, &at).join(" ");
        assert_eq!(
            line(Work::Lone, &floor),
            "send --broker b:1 --topic T --count 9 --queues 4 --size 128 --in-flight 1"
        );
        assert_eq!(line(Work::Send, &tokio), "produce -n n:1 -t T --count 9 --size 128 --in-flight 256");
        assert_eq!(line(Work::Consume, &floor), "consume --broker b:1 --topic T --count 9 --queues 4");
        assert_eq!(line(Work::Consume, &tokio), "consume -n n:1 -t T -g T-2-rocketry-tokio --count 9");
    }
}
