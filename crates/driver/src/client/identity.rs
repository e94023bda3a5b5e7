//! Who we are towards brokers: an address of this machine and the name of the instance.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};

use rocketry_machine::{Endpoint, Seed};

/// `ip@instance`, unique for every client of every process: two members of a group with one id would each get the
/// whole of what is meant for both.
pub(crate) fn client_id(name_servers: &[Endpoint], instance: Option<&str>, seed: Seed) -> String {
    let ip = local_ip(name_servers);
    instance.map_or_else(
        || format!("{ip}@{}#{:x}", std::process::id(), seed.stream("client id").next_u64()),
        |name| format!("{ip}@{name}"),
    )
}

/// The address from which this machine would reach the name servers. No packet is sent to find it.
fn local_ip(name_servers: &[Endpoint]) -> IpAddr {
    let literals =
        name_servers.iter().filter_map(|server| Some(SocketAddr::new(server.host().parse().ok()?, server.port())));
    // Names are not resolved here, since that blocks: the way to a documentation address is the default way.
    let anywhere = SocketAddr::from(([192, 0, 2, 1], 9));
    literals.chain([anywhere]).find_map(source_towards).unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST))
}

fn source_towards(peer: SocketAddr) -> Option<IpAddr> {
    let any = if peer.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(any).ok()?;
    socket.connect(peer).ok()?;
    let ip = socket.local_addr().ok()?.ip();
    (!ip.is_unspecified()).then_some(ip)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_two_clients_differ_and_a_named_instance_keeps_its_name() {
        let servers = [Endpoint::new("127.0.0.1", 9_876)];
        let (one, two) = (client_id(&servers, None, Seed::from(1)), client_id(&servers, None, Seed::from(2)));
        assert_ne!(one, two);
        assert!(one.starts_with("127.0.0.1@"), "{one}");
        assert_eq!(client_id(&servers, Some("blue"), Seed::from(1)), "127.0.0.1@blue");
    }
}
