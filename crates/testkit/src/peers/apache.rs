//! Apache's name server and brokers as child processes.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use rocketry_codec::body::JsonBody;
use rocketry_codec::body::route::TopicRoute;
use rocketry_codec::request::{CreateTopic, GetBrokerRuntimeInfo, GetRouteInfo};

use super::apache_options::{ApacheVersion, BrokerOptions};
use super::ports::{self, local};
use super::process::{self, Output, Process};
use super::{Unavailable, guard, maven, remote};

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
        let jars = jars(version)?;
        let home = scratch(&format!("apache-{version}"))?;
        prepare_logging(&home)?;
        let name_server_port = ports::block()?;
        let mut cluster = Self { version, home, jars, name_server_port, name_server: None, brokers: Vec::new() };
        cluster.start_name_server()?;
        for number in 0..options.brokers {
            cluster.add_broker(number, options)?;
        }
        cluster.wait_for_topic("TBW102")?;
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
        let mut process = Process::start(&mut command)?;
        process.wait_for("boot success", BOOT)?;
        process.mute();
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
        self.wait_for_topic(topic)
    }

    /// Asks the name server until all brokers have the topic. Routes have no event to wait for.
    ///
    /// # Errors
    /// When that takes longer than a minute, with the brokers' last lines.
    pub fn wait_for_topic(&self, topic: &str) -> Result<(), Unavailable> {
        let end = Instant::now() + Duration::from_secs(60);
        while Instant::now() < end {
            let request = GetRouteInfo { topic: topic.into(), ..GetRouteInfo::default() };
            let answer = remote::ask(self.name_server_address(), &request, Bytes::new());
            let route =
                answer.filter(|frame| frame.code() == 0).and_then(|frame| TopicRoute::decode(frame.body()).ok());
            if route.is_some_and(|route| route.queues.len() >= self.brokers.len()) {
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
        let port = ports::block()? + 2;
        let store = self.home.join(&name);
        let mut lines = vec![
            ("brokerClusterName".to_owned(), "DefaultCluster".to_owned()),
            ("brokerName".into(), name.clone()),
            ("brokerId".into(), "0".into()),
            ("brokerIP1".into(), "127.0.0.1".into()),
            ("namesrvAddr".into(), self.name_server()),
            ("listenPort".into(), port.to_string()),
            ("haListenPort".into(), (port + 1).to_string()),
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
        process.mute();
        wait_until_it_answers(&mut process, local(broker.port))?;
        Ok(process)
    }

    fn java(&self, heap: &str) -> Command {
        let mut command = Command::new("java");
        command.arg(format!("-Drocketmq.home.dir={}", self.home.display()));
        command.arg(format!("-Duser.home={}", self.home.display()));
        command.args(["-Dtls.server.mode=disabled", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]);
        command.arg(format!("-Xmx{heap}"));
        command.args(self.version.module_flags());
        command.arg("-cp").arg(self.jars.join("*")).current_dir(&self.home);
        command
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

/// The folder with a release's servers and its tools.
pub(super) fn jars(version: ApacheVersion) -> Result<PathBuf, Unavailable> {
    let artifacts = ["rocketmq-namesrv", "rocketmq-broker", "rocketmq-tools"];
    maven::jars(&format!("server-{version}"), &artifacts, version.text())
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

/// A new folder for one cluster.
pub(super) fn scratch(name: &str) -> Result<PathBuf, Unavailable> {
    for number in 0..10_000u32 {
        let folder = std::env::temp_dir().join(format!("rocketry-{}-{number}-{name}", std::process::id()));
        match fs::create_dir(&folder) {
            Ok(()) => {
                guard::folder(&folder);
                return Ok(folder);
            }
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
