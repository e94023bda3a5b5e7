//! Which name server is asked.
//!
//! Decides: the server of the next request, and when to move on. The list is kept in the order given, started at a
//! seeded place so that many clients spread; the choice stays while it works and moves to the next server when a request
//! to it fails (producer.md 6.2). It owns no timer.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use rocketry_machine::{Endpoint, Prng};

/// The list of name servers and the choice among them.
#[derive(Debug)]
pub(crate) struct Naming {
    servers: Vec<Endpoint>,
    chosen: usize,
}

impl Naming {
    pub(crate) fn new(servers: Vec<Endpoint>, mut spread: Prng) -> Self {
        let count = servers.len();
        let chosen = usize::try_from(spread.below(count as u64)).unwrap_or(0);
        Self { servers, chosen }
    }

    /// The server in use.
    pub(crate) fn current(&self) -> Option<&Endpoint> {
        self.servers.get(self.chosen)
    }

    /// All servers, the one in use first: the order of one look-up.
    pub(crate) fn in_order(&self) -> VecDeque<Endpoint> {
        let (before, from) = self.servers.split_at(self.chosen.min(self.servers.len()));
        from.iter().chain(before).cloned().collect()
    }

    /// A request to this server failed: the next look-up begins with its successor.
    pub(crate) fn failed(&mut self, server: &Endpoint) {
        let Some(at) = self.servers.iter().position(|known| known == server) else { return };
        if at == self.chosen {
            self.chosen = (at + 1) % self.servers.len();
        }
    }

    /// This server answered with what was wanted: it is the one in use from now on.
    pub(crate) fn answered(&mut self, server: &Endpoint) {
        if let Some(at) = self.servers.iter().position(|known| known == server) {
            self.chosen = at;
        }
    }

    /// Takes a new list. The server in use stays if it is in the list.
    pub(crate) fn replace(&mut self, servers: Vec<Endpoint>) {
        let current = self.current().cloned();
        self.chosen = current.and_then(|old| servers.iter().position(|new| *new == old)).unwrap_or(0);
        self.servers = servers;
    }

    /// Whether the address is one of the name servers.
    pub(crate) fn contains(&self, endpoint: &Endpoint) -> bool {
        self.servers.contains(endpoint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rocketry_machine::Seed;

    fn servers(n: u16) -> Vec<Endpoint> {
        (1..=n).map(|port| Endpoint::new("ns", port)).collect()
    }

    #[test]
    fn a_failing_server_makes_room_for_the_next() {
        let mut naming = Naming::new(servers(3), Seed::from(3).stream("naming"));
        let first = naming.current().cloned().expect("three");
        naming.failed(&first);
        let second = naming.current().cloned().expect("three");
        assert_ne!(first, second);
        naming.failed(&second);
        let third = naming.current().cloned().expect("three");
        naming.failed(&third);
        assert_eq!(naming.current(), Some(&first), "and round it goes");
        naming.answered(&second);
        assert_eq!(naming.current(), Some(&second));
    }

    #[test]
    fn one_look_up_can_ask_all() {
        let naming = Naming::new(servers(3), Seed::from(4).stream("naming"));
        assert_eq!(naming.in_order().front(), naming.current());
        let mut asked: Vec<_> = naming.in_order().into_iter().collect();
        asked.sort();
        assert_eq!(asked, servers(3));
    }

    #[test]
    fn a_new_list_keeps_the_choice() {
        let mut naming = Naming::new(servers(3), Seed::from(4).stream("naming"));
        let current = naming.current().cloned().expect("three");
        naming.replace(alloc::vec![Endpoint::new("x", 1), current.clone()]);
        assert_eq!(naming.current(), Some(&current));
        naming.replace(servers(1));
        assert_eq!(naming.current(), Some(&Endpoint::new("ns", 1)));
    }
}
