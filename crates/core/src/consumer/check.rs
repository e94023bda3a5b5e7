//! Checks of a consumer's settings, in Java's order (consumer.md 1.4): the first one that fails is the error.

use alloc::string::ToString;
use core::fmt::Display;
use core::time::Duration;

use rocketry_codec::names;
use rocketry_codec::tags::TagExpression;

use super::filter::Expression;
use crate::api::{ConfigError, ConsumerConfig, FilterExpression, LiteConfig, RejectReason, StartAt, Topic};
use crate::cx::Shared;

/// Checks everything that can be checked without asking anybody.
pub(super) fn check(shared: &Shared, config: &ConsumerConfig) -> Result<(), RejectReason> {
    settings(config).map_err(RejectReason::Invalid)?;
    place_for_group(shared, config)
}

/// Checks the settings of a consumer that is polled; `common` holds those that it shares with others.
pub(super) fn check_lite(shared: &Shared, config: &LiteConfig, common: &ConsumerConfig) -> Result<(), RejectReason> {
    common_settings(common).and_then(|()| lite_settings(config)).map_err(RejectReason::Invalid)?;
    place_for_group(shared, common)
}

fn place_for_group(shared: &Shared, config: &ConsumerConfig) -> Result<(), RejectReason> {
    let group = config.group.as_str();
    if shared.registry.has_consumer(&config.group) {
        let text = alloc::format!("The consumer group[{group}] has been created before, specify another name please.");
        return Err(invalid("group", group, text));
    }
    if shared.registry.len() >= shared.config.limits.groups {
        let text = alloc::format!("there are {} groups already (limits.groups)", shared.config.limits.groups);
        return Err(invalid("group", group, text));
    }
    Ok(())
}

/// Checks a subscription and reads its expression.
pub(super) fn subscription(topic: &Topic, filter: &FilterExpression) -> Result<Expression, RejectReason> {
    expression(topic, filter).map_err(RejectReason::Invalid)
}

fn invalid(setting: &'static str, value: &str, reason: alloc::string::String) -> RejectReason {
    RejectReason::Invalid(ConfigError::new(setting, value, reason))
}

fn settings(config: &ConsumerConfig) -> Result<(), ConfigError> {
    common_settings(config)?;
    if config.subscriptions.is_empty() {
        return Err(ConfigError::new("subscriptions", "", "at least one topic must be subscribed to"));
    }
    Ok(())
}

fn lite_settings(config: &LiteConfig) -> Result<(), ConfigError> {
    if !config.subscriptions.is_empty() && !config.assigned.is_empty() {
        return Err(ConfigError::new("assigned", "", "subscribe and assign are mutually exclusive"));
    }
    in_range("max_cached_total", config.max_cached_total, 1, u64::MAX)?;
    if let Some(interval) = config.auto_commit {
        lasts("auto_commit", interval, Duration::from_millis(10), Duration::from_secs(86_400))?;
    }
    for (topic, tags) in &config.filters {
        TagExpression::parse(tags)
            .map_err(|error| ConfigError::new("filters", alloc::format!("{topic}: {tags}"), error.to_string()))?;
    }
    Ok(())
}

fn common_settings(config: &ConsumerConfig) -> Result<(), ConfigError> {
    let group = config.group.as_str();
    names::check_group(group).map_err(|error| ConfigError::new("group", group, error.to_string()))?;
    if group == names::DEFAULT_CONSUMER_GROUP {
        let text = "consumerGroup can not equal DEFAULT_CONSUMER, please specify another one.";
        return Err(ConfigError::new("group", group, text));
    }
    if let StartAt::Time(time) = config.start_at
        && time.get() < 0
    {
        return Err(ConfigError::new("start_at", time.get(), "the time is before 1970"));
    }
    in_range("concurrency", config.concurrency, 1, 1_000)?;
    in_range("max_span", config.max_span, 1, 65_535)?;
    in_range("max_cached_messages", config.max_cached_messages, 1, 65_535)?;
    in_range("max_cached_bytes", config.max_cached_bytes, 1 << 20, 1 << 30)?;
    lasts("pull_interval", config.pull_interval, Duration::ZERO, Duration::from_millis(65_535))?;
    in_range("pull_batch", config.pull_batch, 1, 1_024)?;
    lasts("pull_retry", config.pull_retry, Duration::from_millis(10), Duration::from_secs(60))?;
    lasts("long_poll", config.long_poll, Duration::ZERO, Duration::from_secs(60))?;
    lasts("consume_timeout", config.consume_timeout, Duration::from_millis(1), Duration::from_secs(30 * 86_400))?;
    lasts("slow_after", config.slow_after, Duration::from_millis(1), Duration::from_secs(30 * 86_400))?;
    if let Some(trace) = &config.trace {
        trace.check()?;
    }
    in_range("max_redeliveries", config.max_redeliveries, -1, i32::MAX)?;
    for (topic, tags) in &config.subscriptions {
        expression(topic, tags)?;
    }
    Ok(())
}

fn expression(topic: &Topic, filter: &FilterExpression) -> Result<Expression, ConfigError> {
    let name = topic.as_str();
    names::check_topic(name).map_err(|error| ConfigError::new("subscriptions", name, error.to_string()))?;
    if names::is_retry_topic(name) {
        return Err(ConfigError::new("subscriptions", name, "retry topics are subscribed to by the client itself"));
    }
    Expression::read(filter).map_err(|reason| ConfigError::new("subscriptions", filter.as_str(), reason))
}

fn in_range<N: PartialOrd + Display>(setting: &'static str, value: N, least: N, most: N) -> Result<(), ConfigError> {
    if value < least || value > most {
        let reason = alloc::format!("out of range [{least}, {most}]");
        return Err(ConfigError::new(setting, value, reason));
    }
    Ok(())
}

fn lasts(setting: &'static str, value: Duration, least: Duration, most: Duration) -> Result<(), ConfigError> {
    if value < least || value > most {
        let reason = alloc::format!("out of range [{}, {}] ms", least.as_millis(), most.as_millis());
        return Err(ConfigError::new(setting, alloc::format!("{} ms", value.as_millis()), reason));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(change: impl FnOnce(&mut ConsumerConfig)) -> ConfigError {
        let mut config = ConsumerConfig::new("g").subscribe("T", "*");
        assert_eq!(settings(&config), Ok(()));
        change(&mut config);
        settings(&config).expect_err("it is broken")
    }

    #[test]
    fn each_setting_is_named_with_its_value() {
        type Change = fn(&mut ConsumerConfig);
        let cases: [(Change, &str, &str); 17] = [
            (|c| c.group = " ".into(), "group", " "),
            (|c| c.group = "a b".into(), "group", "a b"),
            (|c| c.group = "DEFAULT_CONSUMER".into(), "group", "DEFAULT_CONSUMER"),
            (|c| c.subscriptions.clear(), "subscriptions", ""),
            (|c| c.concurrency = 0, "concurrency", "0"),
            (|c| c.concurrency = 1_001, "concurrency", "1001"),
            (|c| c.max_span = 65_536, "max_span", "65536"),
            (|c| c.max_cached_messages = 0, "max_cached_messages", "0"),
            (|c| c.max_cached_bytes = 1_023, "max_cached_bytes", "1023"),
            (|c| c.pull_interval = Duration::from_millis(65_536), "pull_interval", "65536 ms"),
            (|c| c.pull_batch = 1_025, "pull_batch", "1025"),
            (|c| c.pull_retry = Duration::ZERO, "pull_retry", "0 ms"),
            (|c| c.consume_timeout = Duration::ZERO, "consume_timeout", "0 ms"),
            (|c| c.slow_after = Duration::ZERO, "slow_after", "0 ms"),
            (|c| c.max_redeliveries = -2, "max_redeliveries", "-2"),
            (|c| drop(c.subscriptions.insert("T".into(), "||".into())), "subscriptions", "||"),
            (|c| drop(c.subscriptions.insert("%RETRY%g".into(), "*".into())), "subscriptions", "%RETRY%g"),
        ];
        for (change, setting, value) in cases {
            let error = broken(change);
            assert_eq!((error.setting, error.value.as_str()), (setting, value), "{error}");
        }
    }

    #[test]
    fn the_group_is_checked_first() {
        let error = broken(|config| {
            config.concurrency = 0;
            config.group = "".into();
        });
        assert_eq!(error.setting, "group");
    }
}
