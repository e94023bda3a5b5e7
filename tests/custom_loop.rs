//! The example of a loop of one's own, run against the embedded broker.

use std::net::Ipv4Addr;

use rocketry_broker::{BrokerConfig, Embedded, NameServerConfig};
use rocketry_driver::server::Listener;
use rocketry_testkit::scenario::{Rt, SmolRt};

#[path = "../crates/core/examples/custom_loop.rs"]
mod custom_loop;

#[test]
fn a_loop_of_ones_own_sends_and_receives() {
    SmolRt::run(async {
        let listener = Listener::<<SmolRt as Rt>::Net>::bind((Ipv4Addr::LOCALHOST, 0).into()).await;
        let listener = listener.expect("a free port");
        let address = listener.address().expect("a socket has an address");
        let make = |now, seed| Embedded::new(NameServerConfig::new(), BrokerConfig::new(address), seed, now);
        let server = listener.serve(make).expect("there is a runtime");
        // The loop blocks, as loops do; the server runs on the executor's own threads.
        let received = smol::unblock(move || {
            custom_loop::run(&address.to_string(), "custom-loop").map_err(|error| error.to_string())
        });
        assert_eq!(received.await.map(|ids| ids.len()), Ok(10));
        drop(server);
    });
}
