//! Bodies: routes, heartbeats, locks, offsets and statistics.
