//! Which release of Apache's servers runs, and how its cluster is set up.

use std::fmt;

/// A release of Apache RocketMQ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ApacheVersion {
    /// 4.2.0
    V4_2_0,
    /// 4.9.7
    V4_9_7,
    /// 5.3.3
    V5_3_3,
}

impl ApacheVersion {
    /// All of them, oldest first.
    pub const ALL: [Self; 3] = [Self::V4_2_0, Self::V4_9_7, Self::V5_3_3];

    /// The release's name.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::V4_2_0 => "4.2.0",
            Self::V4_9_7 => "4.9.7",
            Self::V5_3_3 => "5.3.3",
        }
    }

    /// What its classes reach for inside a JVM of version 9 and later (broker 14).
    pub(super) fn module_flags(self) -> impl Iterator<Item = &'static str> {
        const ALL: [&str; 2] =
            ["--add-opens=java.base/java.nio=ALL-UNNAMED", "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED"];
        const OLD: [&str; 3] = [
            "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
            "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED",
            "--add-opens=java.base/java.lang=ALL-UNNAMED",
        ];
        ALL.into_iter().chain(OLD.into_iter().filter(move |_| self.is_4()))
    }

    const fn is_4(self) -> bool {
        matches!(self, Self::V4_2_0 | Self::V4_9_7)
    }
}

impl fmt::Display for ApacheVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// How a cluster is set up.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BrokerOptions {
    /// How many brokers, all masters: `broker-a`, `broker-b`, …
    pub brokers: u8,
    /// Further lines of `broker.conf`, as name and value.
    pub settings: Vec<(String, String)>,
    /// The broker's heap, for example `512m`.
    pub heap: String,
    /// Further arguments of the broker's JVM. It starts quickly and stays slow unless they say otherwise.
    pub jvm: Vec<String>,
}

impl Default for BrokerOptions {
    fn default() -> Self {
        Self { brokers: 1, settings: Vec::new(), heap: "512m".into(), jvm: Vec::new() }
    }
}

impl BrokerOptions {
    /// The same with another line of `broker.conf`.
    #[must_use]
    pub fn set(mut self, name: &str, value: impl fmt::Display) -> Self {
        self.settings.push((name.into(), value.to_string()));
        self
    }

    /// The same as in production instead of for quick tests: Apache's default sizes of files, the JVM's full
    /// compiler, a heap of 1 GiB.
    #[must_use]
    pub fn production(mut self) -> Self {
        self.heap = "1g".into();
        self.jvm.extend(["-XX:TieredStopAtLevel=4".into(), "-XX:-UseSerialGC".into(), "-XX:+UseG1GC".into()]);
        for prefix in ["mappedFileSize", "mapedFileSize"] {
            self = self.set(&format!("{prefix}CommitLog"), 1 << 30).set(&format!("{prefix}ConsumeQueue"), 6_000_000);
        }
        self.set("maxHashSlotNum", 5_000_000).set("maxIndexNum", 20_000_000)
    }

    /// The same with so many brokers.
    #[must_use]
    pub const fn brokers(mut self, count: u8) -> Self {
        self.brokers = count;
        self
    }
}
