//! Plans drawn from a seed.
//!
//! First it is drawn which kinds of trouble exist in this case at all (a swarm): some bugs need many troubles of one kind,
//! and a case in which everything happens hides them. Then each trouble is drawn from a stream of its own.

use std::time::Duration;

use rocketry_machine::{Prng, Seed};

use super::{Part, Plan, Trouble, What};

/// How long troubles begin, from the start of a case.
pub(crate) const CHAOS: Duration = Duration::from_secs(300);
/// Brokers of the standard cluster.
pub(crate) const BROKERS: u8 = 2;
/// Members of the standard cluster.
pub(crate) const MEMBERS: u8 = 4;

/// The most troubles of a case.
const MOST: u64 = 24;

type Make = fn(&mut Prng) -> What;

/// The kinds of trouble, each drawn with its own needs.
const KINDS: &[Make] = &[
    |draws| link(draws, What::Reset),
    |draws| link(draws, What::Stall),
    |draws| link(draws, What::Silence),
    |draws| link(draws, What::Swallow),
    |draws| link(draws, What::Refuse),
    |draws| {
        let (from, to) = ends(draws);
        What::Slow(from, to, number(draws, 20, 2_000))
    },
    |draws| {
        let (from, to) = ends(draws);
        What::Crumble(from, to, u16::try_from(number(draws, 1, 64)).unwrap_or(1))
    },
    |draws| What::Crash(client(draws)),
    |draws| What::Vanish(client(draws)),
    |draws| What::Kill(server(draws)),
    |draws| What::Pause(anybody(draws)),
    |draws| {
        let part = anybody(draws);
        let hours = i32::try_from(draws.below(5)).unwrap_or(0) - 2;
        What::WallJump(part, hours * 3_600_000 + i32::try_from(draws.below(10_000)).unwrap_or(0))
    },
    |draws| What::Leave(member(draws)),
    |_| What::Join,
    |draws| What::Twin(member(draws)),
    |draws| {
        let member = member(draws);
        What::SlowHandlers(member, number(draws, 10, 8_000))
    },
    |draws| What::StuckHandlers(member(draws)),
    |draws| What::FailingHandlers(member(draws)),
    |draws| {
        let (server, code) = request(draws);
        // Codes that any request may be answered with, and that do not lie about what is stored.
        let with = [1, 2, 3, 14, 16, 215][usize::try_from(draws.below(6)).unwrap_or(0)];
        What::Answer(server, code, with)
    },
    |draws| coded(draws, What::LoseRequest),
    |draws| coded(draws, What::LoseAnswer),
    |draws| {
        let (server, code) = request(draws);
        What::LateAnswer(server, code, number(draws, 50, 6_000))
    },
    |draws| coded(draws, What::DoubleAnswer),
    |draws| What::Trim(u8::try_from(draws.below(u64::from(BROKERS))).unwrap_or(0)),
    |draws| What::Hostile(server(draws)),
];

/// The plan of a seed.
#[must_use]
pub fn draw(seed: u64) -> Plan {
    let source = Seed::from(seed);
    let mut swarm = source.stream("swarm");
    let weights: Vec<u64> = KINDS.iter().map(|_| if swarm.chance(2, 5) { 1 + swarm.below(3) } else { 0 }).collect();
    let total: u64 = weights.iter().sum();
    let count = 2 + swarm.below(MOST - 2);
    let mut troubles: Vec<Trouble> = (0..count)
        .filter(|_| total > 0)
        .map(|number| {
            let mut draws = source.stream(&format!("trouble {number}"));
            let mut left = draws.below(total);
            let kind = weights.iter().position(|weight| {
                let here = left < *weight;
                left = left.saturating_sub(*weight);
                here
            });
            let make = KINDS[kind.unwrap_or(0)];
            let at = Duration::from_millis(draws.below(u64::try_from(CHAOS.as_millis()).unwrap_or(0)));
            let lasts = length(&mut draws);
            Trouble { at, lasts, what: make(&mut draws) }
        })
        .collect();
    troubles.sort_by_key(|trouble| trouble.at);
    Plan { seed, troubles }
}

/// Mostly seconds, sometimes a minute.
fn length(draws: &mut Prng) -> Duration {
    let most = [500, 5_000, 20_000, 60_000][usize::try_from(draws.below(4)).unwrap_or(0)];
    Duration::from_millis(50 + draws.below(most))
}

fn number(draws: &mut Prng, least: u32, most: u32) -> u32 {
    least + u32::try_from(draws.below(u64::from(most - least))).unwrap_or(0)
}

fn member(draws: &mut Prng) -> u8 {
    u8::try_from(draws.below(u64::from(MEMBERS))).unwrap_or(0)
}

fn client(draws: &mut Prng) -> Part {
    match draws.below(u64::from(MEMBERS) + 1) {
        0 => Part::Sender,
        other => Part::Member(u8::try_from(other - 1).unwrap_or(0)),
    }
}

fn server(draws: &mut Prng) -> Part {
    match draws.below(u64::from(BROKERS) + 1) {
        0 => Part::Names,
        other => Part::Broker(u8::try_from(other - 1).unwrap_or(0)),
    }
}

fn anybody(draws: &mut Prng) -> Part {
    if draws.chance(1, 2) { client(draws) } else { server(draws) }
}

/// Two parts between which there are connections, in either order.
fn ends(draws: &mut Prng) -> (Part, Part) {
    let (client, server) = (client(draws), server(draws));
    if draws.chance(1, 2) { (client, server) } else { (server, client) }
}

fn link(draws: &mut Prng, make: fn(Part, Part) -> What) -> What {
    let (from, to) = ends(draws);
    make(from, to)
}

/// A kind of request that clients of the case make, and a server that serves it.
fn request(draws: &mut Prng) -> (Part, i32) {
    let codes = [310, 11, 14, 15, 30, 34, 36, 38];
    match draws.below(codes.len() as u64 + 1) {
        0 => (Part::Names, 105),
        other => {
            let code = codes[usize::try_from(other - 1).unwrap_or(0)];
            (Part::Broker(u8::try_from(draws.below(u64::from(BROKERS))).unwrap_or(0)), code)
        }
    }
}

fn coded(draws: &mut Prng, make: fn(Part, i32) -> What) -> What {
    let (server, code) = request(draws);
    make(server, code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn all_kinds_are_drawn_and_a_seed_is_a_plan() {
        let kinds: BTreeSet<&str> =
            (0..100).flat_map(|seed| draw(seed).troubles).map(|trouble| trouble.what.kind()).collect();
        assert_eq!(kinds.len(), KINDS.len());
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }
}
