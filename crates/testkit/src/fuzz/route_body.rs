//! Routes: lenient to read, bounded in what they make a client hold (COD-01 to COD-03).

use rocketry_codec::body::JsonBody;
use rocketry_codec::body::route::{MOST_QUEUES, TopicRoute};

/// The queues that a client gives a topic which does not exist yet.
const DEFAULT_QUEUES: i32 = 4;

/// Reads the input as the JSON of a route.
///
/// # Panics
/// Where a route yields more queues than the limit or one with a negative number, or where a route that was written
/// does not read the same.
pub fn route_body(data: &[u8]) {
    let Ok(mut route) = TopicRoute::decode(data) else { return };
    for queues in [route.publish_queues(), route.subscribe_queues()] {
        assert!(queues.len() <= MOST_QUEUES, "{} queues", queues.len());
        assert!(queues.iter().all(|(_, id)| *id >= 0), "a queue has a negative number");
    }
    let text = route.encode();
    let again = TopicRoute::decode(text.as_bytes()).expect("a route that was written can be read");
    assert_eq!(again, route, "a route changed when written");
    assert_eq!(again.encode(), text, "the text of a route is not stable");
    route.cap_queues(DEFAULT_QUEUES);
    assert!(route.queues.iter().all(|data| data.read_queues.max(data.write_queues) <= DEFAULT_QUEUES));
}
