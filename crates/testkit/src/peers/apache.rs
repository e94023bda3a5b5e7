//! Apache's name server and brokers as child processes.

use std::fmt;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use rocketry_codec::body::JsonBody;
use rocketry_codec::body::route::TopicRoute;
use rocketry_codec::request::{CreateTopic, GetBrokerRuntimeInfo, GetRouteInfo};

use super::process::{self, Output, Process};
use super::{Unavailable, maven, remote};

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

/// A running name server with its brokers. Dropping it ends them and removes their files.
#[derive(Debug)]
pub struct Apache {
    version: ApacheVersion,
    home: PathBuf,
    jars: PathBuf,
    name_server_port: u16,
    name_server: Option<Process>,
    brokers: Vec<Broker>,
}

#[derive(Debug)]
struct Broker {
    name: String,
    port: u16,
    heap: String,
    jvm: Vec<String>,
    process: Option<Process>,
}

const BOOT: Duration = Duration::from_secs(120);

impl Apache {
    /// Fetches what is missing and starts a cluster; returns when its brokers are in the routes.
    ///
    /// # Errors
    /// What is missing, or what the servers said when they did not start.
    pub fn start(version: ApacheVersion, options: &BrokerOptions) -> Result<Self, Unavailable> {
        super::tools()?;
        let jars = maven::jars(
            &format!("server-{version}"),
            &["rocketmq-namesrv", "rocketmq-broker", "rocketmq-tools"],
            version.text(),
        )?;
        let home = scratch(&format!("apache-{version}"))?;
        prepare_logging(&home)?;
        let name_server_port = free_port()?;
        let mut cluster = Self { version, home, jars, name_server_port, name_server: None, brokers: Vec::new() };
        cluster.start_name_server()?;
        for number in 0..options.brokers {
            cluster.add_broker(number, options)?;
        }
        cluster.wait_for_topic("TBW102", usize::from(options.brokers))?;
        Ok(cluster)
    }

    /// The release.
    #[must_use]
    pub const fn version(&self) -> ApacheVersion {
        self.version
    }

    /// The name server's address.
    #[must_use]
    pub fn name_server(&self) -> String {
        self.name_server_address().to_string()
    }

    /// The address of the broker with this number, from 0.
    ///
    /// # Panics
    /// Where there is no such broker.
    #[must_use]
    pub fn broker(&self, number: usize) -> String {
        local(self.brokers[number].port).to_string()
    }

    /// The name of the broker with this number, from 0.
    ///
    /// # Panics
    /// Where there is no such broker.
    #[must_use]
    pub fn broker_name(&self, number: usize) -> &str {
        &self.brokers[number].name
    }

    /// Kills a broker as `kill -9` does.
    ///
    /// # Panics
    /// Where there is no such broker.
    pub fn kill_broker(&mut self, number: usize) {
        if let Some(mut process) = self.brokers[number].process.take() {
            process.kill();
        }
    }

    /// Starts a killed broker again, on its old port and data; returns when it says that it runs.
    ///
    /// # Errors
    /// What it said instead.
    ///
    /// # Panics
    /// Where there is no such broker.
    pub fn restart_broker(&mut self, number: usize) -> Result<(), Unavailable> {
        self.kill_broker(number);
        // An abruptly ended broker leaves a lock file that only its process held.
        let process = self.spawn_broker(number)?;
        self.brokers[number].process = Some(process);
        Ok(())
    }

    /// Kills the name server; the brokers go on.
    pub fn kill_name_server(&mut self) {
        self.name_server = None;
    }

    /// Starts the name server again on its old port.
    ///
    /// # Errors
    /// What it said instead.
    pub fn start_name_server(&mut self) -> Result<(), Unavailable> {
        let config = self.home.join("namesrv.conf");
        let text = format!(
            "listenPort={}\nkvConfigPath={}\n",
            self.name_server_port,
            self.home.join("kvConfig.json").display()
        );
        fs::write(&config, text).map_err(Unavailable::because)?;
        let mut command = self.java("128m");
        command.arg("org.apache.rocketmq.namesrv.NamesrvStartup").arg("-c").arg(&config);
        let process = Process::start(&mut command)?;
        process.wait_for("boot success", BOOT)?;
        self.name_server = Some(process);
        Ok(())
    }

    /// Makes a topic with so many queues on every broker; returns when the name server knows it.
    ///
    /// # Errors
    /// A broker that refuses, or a route that does not come.
    pub fn create_topic(&self, topic: &str, queues: i32) -> Result<(), Unavailable> {
        let request = CreateTopic {
            topic: topic.into(),
            default_topic: "TBW102".into(),
            read_queue_nums: queues,
            write_queue_nums: queues,
            perm: 6,
            topic_filter_type: "SINGLE_TAG".into(),
            topic_sys_flag: Some(0),
            ..CreateTopic::default()
        };
        for broker in &self.brokers {
            let answer = remote::ask(local(broker.port), &request, Bytes::new());
            let code = answer.as_ref().map(rocketry_codec::Frame::response_code);
            if code != Some(rocketry_codec::codes::ResponseCode::SUCCESS) {
                return Err(Unavailable(format!("{} does not make topic {topic}: {answer:?}", broker.name)));
            }
        }
        self.wait_for_topic(topic, self.brokers.len())
    }

    /// Runs `mqadmin` of the same release.
    ///
    /// # Errors
    /// Where it cannot be started at all.
    pub fn mqadmin(&self, arguments: &[&str]) -> Result<Output, Unavailable> {
        let mut command = self.java("256m");
        command.env("NAMESRV_ADDR", self.name_server());
        command.arg("org.apache.rocketmq.tools.command.MQAdminStartup").args(arguments);
        process::run(&mut command)
    }

    fn add_broker(&mut self, number: u8, options: &BrokerOptions) -> Result<(), Unavailable> {
        let name = format!("broker-{}", char::from(b'a' + number));
        let port = free_broker_port()?;
        let store = self.home.join(&name);
        let mut lines = vec![
            ("brokerClusterName".to_owned(), "DefaultCluster".to_owned()),
            ("brokerName".into(), name.clone()),
            ("brokerId".into(), "0".into()),
            ("brokerIP1".into(), "127.0.0.1".into()),
            ("namesrvAddr".into(), self.name_server()),
            ("listenPort".into(), port.to_string()),
            ("haListenPort".into(), free_port()?.to_string()),
            ("storePathRootDir".into(), store.display().to_string()),
            ("storePathCommitLog".into(), store.join("commitlog").display().to_string()),
            ("autoCreateTopicEnable".into(), "true".into()),
            ("enablePropertyFilter".into(), "true".into()),
            ("diskMaxUsedSpaceRatio".into(), "98".into()),
            ("registerNameServerPeriod".into(), "10000".into()),
            ("maxHashSlotNum".into(), "50000".into()),
            ("maxIndexNum".into(), "200000".into()),
            ("mappedFileSizeTimerLog".into(), "1048576".into()),
        ];
        // 4.x spells them with one p; an unknown key is ignored.
        for prefix in ["mappedFileSize", "mapedFileSize"] {
            lines.push((format!("{prefix}CommitLog"), "67108864".into()));
            lines.push((format!("{prefix}ConsumeQueue"), "200000".into()));
        }
        lines.extend(options.settings.iter().cloned());
        let text: String = lines.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
        fs::write(self.home.join(format!("{name}.conf")), text).map_err(Unavailable::because)?;
        self.brokers.push(Broker { name, port, heap: options.heap.clone(), jvm: options.jvm.clone(), process: None });
        let number = self.brokers.len() - 1;
        let process = self.spawn_broker(number)?;
        self.brokers[number].process = Some(process);
        Ok(())
    }

    fn spawn_broker(&self, number: usize) -> Result<Process, Unavailable> {
        let broker = &self.brokers[number];
        let mut command = self.java(&broker.heap);
        command.arg(format!("-XX:MaxDirectMemorySize={}", broker.heap));
        command.args(&broker.jvm).arg("org.apache.rocketmq.broker.BrokerStartup");
        command.arg("-c").arg(self.home.join(format!("{}.conf", broker.name)));
        let mut process = Process::start(&mut command)?;
        wait_until_it_answers(&mut process, local(broker.port))?;
        Ok(process)
    }

    fn java(&self, heap: &str) -> Command {
        let mut command = Command::new("java");
        command.arg(format!("-Drocketmq.home.dir={}", self.home.display()));
        command.arg(format!("-Duser.home={}", self.home.display()));
        command.args(["-Dtls.server.mode=disabled", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]);
        command.arg(format!("-Xmx{heap}"));
        command.args(["--add-opens=java.base/java.nio=ALL-UNNAMED", "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED"]);
        if self.version.is_4() {
            command.args([
                "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
                "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED",
                "--add-opens=java.base/java.lang=ALL-UNNAMED",
            ]);
        }
        command.arg("-cp").arg(self.jars.join("*")).current_dir(&self.home);
        command
    }

    /// Asks the name server until so many brokers have the topic. Routes have no event to wait for.
    fn wait_for_topic(&self, topic: &str, brokers: usize) -> Result<(), Unavailable> {
        let end = Instant::now() + Duration::from_secs(60);
        while Instant::now() < end {
            let request = GetRouteInfo { topic: topic.into(), ..GetRouteInfo::default() };
            let answer = remote::ask(self.name_server_address(), &request, Bytes::new());
            let route =
                answer.filter(|frame| frame.code() == 0).and_then(|frame| TopicRoute::decode(frame.body()).ok());
            if route.is_some_and(|route| route.queues.len() >= brokers) {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(50));
        }
        let tail = self.brokers.iter().filter_map(|broker| broker.process.as_ref()).map(Process::tail);
        Err(Unavailable(format!(
            "topic {topic} is in no route; the brokers say:\n{}",
            tail.collect::<Vec<_>>().join("\n")
        )))
    }

    fn name_server_address(&self) -> SocketAddr {
        local(self.name_server_port)
    }
}

impl Drop for Apache {
    fn drop(&mut self) {
        for broker in &mut self.brokers {
            broker.process = None;
        }
        self.name_server = None;
        let _ = fs::remove_dir_all(&self.home);
    }
}

/// 4.2.0 prints nothing when it is up, so the broker is asked until it answers.
fn wait_until_it_answers(process: &mut Process, broker: SocketAddr) -> Result<(), Unavailable> {
    let end = Instant::now() + BOOT;
    while Instant::now() < end {
        if remote::ask(broker, &GetBrokerRuntimeInfo::default(), Bytes::new()).is_some() {
            return Ok(());
        }
        if process.has_ended() {
            return Err(Unavailable(format!("the broker ended; last lines:\n{}", process.tail())));
        }
        thread::sleep(Duration::from_millis(50));
    }
    Err(Unavailable(format!("the broker does not answer within {BOOT:?}; last lines:\n{}", process.tail())))
}

const fn local(port: u16) -> SocketAddr {
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), port)
}

fn free_port() -> Result<u16, Unavailable> {
    let listener = TcpListener::bind(local(0)).map_err(Unavailable::because)?;
    Ok(listener.local_addr().map_err(Unavailable::because)?.port())
}

/// A broker also opens the ports two below and one above its own.
fn free_broker_port() -> Result<u16, Unavailable> {
    for _ in 0..100 {
        let port = free_port()?;
        let free = |port: Option<u16>| port.is_some_and(|port| TcpListener::bind(local(port)).is_ok());
        if free(port.checked_sub(2)) && free(port.checked_add(1)) {
            return Ok(port);
        }
    }
    Err(Unavailable("no free ports for a broker".into()))
}

/// A new folder for one cluster.
pub(super) fn scratch(name: &str) -> Result<PathBuf, Unavailable> {
    for number in 0..10_000u32 {
        let folder = std::env::temp_dir().join(format!("rocketry-{}-{number}-{name}", std::process::id()));
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Unavailable::because(error)),
        }
    }
    Err(Unavailable("no name is left for a scratch folder".into()))
}

/// 4.x does not start without its logging files; these log nothing.
fn prepare_logging(home: &Path) -> Result<(), Unavailable> {
    let folder = home.join("conf");
    fs::create_dir_all(&folder).map_err(Unavailable::because)?;
    for name in ["logback_namesrv.xml", "logback_broker.xml", "logback_tools.xml"] {
        let text = "<configuration><root level=\"OFF\"/></configuration>";
        fs::write(folder.join(name), text).map_err(Unavailable::because)?;
    }
    Ok(())
}
