//! What happens before the clock starts: finding the broker and making the topic.

use crate::Failure;
use crate::args::{Mode, Options};
use crate::frames::{Template, find};
use crate::link::Link;

const UPDATE_AND_CREATE_TOPIC: u16 = 17;
const GET_ROUTEINFO_BY_TOPIC: u16 = 105;

/// The broker given, or the master that a name server knows (wire 4.13, 5.2). Sending asks for the template of
/// automatic creation, since the topic need not exist yet.
pub(crate) fn broker_address(options: &Options) -> Result<String, Failure> {
    if let Some(broker) = &options.broker {
        return Ok(broker.clone());
    }
    let name_server = options.name_server.as_deref().ok_or("no name server")?;
    let topic = if options.mode == Mode::Send { "TBW102" } else { &options.topic };
    let request = Template::new(options.encoding, GET_ROUTEINFO_BY_TOPIC, &[("topic", topic)], b"")?;
    Link::open(name_server)?.ask(&request, |answer| {
        if answer.code != 0 {
            return Err(answer.complaint().into());
        }
        master(answer.body).ok_or_else(|| "the route names no master".into())
    })
}

/// The address of the first broker id 0; keys of maps may come without quotes (wire 5.1).
fn master(route: &[u8]) -> Option<String> {
    let addresses = &route[find(route, b"\"brokerAddrs\":{")? + 15..];
    let addresses = &addresses[..addresses.iter().position(|b| *b == b'}')?];
    let text = std::str::from_utf8(addresses).ok()?;
    text.split(',').find_map(|entry| {
        let (id, address) = entry.split_once(':')?;
        (id.trim_matches('"') == "0").then(|| address.trim_matches('"').to_owned())
    })
}

/// Makes the topic with the wanted number of queues; an equal one stays as it is (broker 10.1).
pub(crate) fn create_topic(options: &Options, broker: &str) -> Result<(), Failure> {
    let queues = options.queues.to_string();
    let fields = [
        ("topic", options.topic.as_str()),
        ("defaultTopic", "TBW102"),
        ("readQueueNums", &queues),
        ("writeQueueNums", &queues),
        ("perm", "6"),
        ("topicFilterType", "SINGLE_TAG"),
        ("topicSysFlag", "0"),
        ("order", "false"),
    ];
    let request = Template::new(options.encoding, UPDATE_AND_CREATE_TOPIC, &fields, b"")?;
    Link::open(broker)?.ask(&request, |answer| match answer.code {
        0 => Ok(()),
        _ => Err(answer.complaint().into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_master_is_found_in_both_spellings() {
        let plain = br#"{"brokerDatas":[{"brokerAddrs":{"1":"10.0.0.2:1","0":"127.0.0.1:10911"},"brokerName":"a"}]}"#;
        let fastjson = br#"{"brokerDatas":[{"brokerAddrs":{0:"127.0.0.1:10911"},"brokerName":"a"}]}"#;
        assert_eq!(master(plain).as_deref(), Some("127.0.0.1:10911"));
        assert_eq!(master(fastjson).as_deref(), Some("127.0.0.1:10911"));
        assert_eq!(master(br#"{"brokerDatas":[{"brokerAddrs":{"1":"10.0.0.2:1"}}]}"#), None);
    }
}
