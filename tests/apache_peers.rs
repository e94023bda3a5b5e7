//! The real peers themselves: each Apache release starts, and Apache's Java client works with it as with its own.

use std::process::ExitCode;
use std::time::Duration;

use rocketry_testkit::harness::{Case, Failure, ensure, main as run_cases};
use rocketry_testkit::peers::{Apache, ApacheVersion, BrokerOptions, JavaClient};

const LIMIT: Duration = Duration::from_secs(120);

fn main() -> ExitCode {
    let each = ApacheVersion::ALL
        .map(|version| Case::new(format!("java_round_trip_on_{version}"), move || java_round_trip(version)));
    let mut cases = Vec::from(each);
    cases.push(Case::new("an_acknowledged_message_survives_kill_9_on_5.3.3", survives_a_kill));
    run_cases(&cases)
}

fn java_round_trip(version: ApacheVersion) -> Result<(), Failure> {
    let apache = Apache::start(version, &BrokerOptions::default())?;
    apache.create_topic("round", 4)?;
    let java = JavaClient::new(ApacheVersion::V5_3_3)?;
    let name_server = apache.name_server();
    let sent = java.run(&["produce", &name_server, "round", "pg", "100", "64"])?.all(LIMIT)?;
    let mut read = java.run(&["consume", &name_server, "round", "cg", "100", "30"])?.all(LIMIT)?;
    read.retain(|line| line.get("msgId").is_some());
    let bodies = |lines: &[serde_json::Value]| {
        let mut bodies: Vec<String> = lines.iter().map(|line| line["bodyBase64"].to_string()).collect();
        bodies.sort();
        bodies
    };
    ensure(bodies(&sent) == bodies(&read), || format!("{} sent, {} read", sent.len(), read.len()))
}

fn survives_a_kill() -> Result<(), Failure> {
    let mut apache = Apache::start(ApacheVersion::V5_3_3, &BrokerOptions::default())?;
    apache.create_topic("kill", 2)?;
    let java = JavaClient::new(ApacheVersion::V5_3_3)?;
    let name_server = apache.name_server();
    let sent = java.run(&["produce", &name_server, "kill", "pg", "50", "64"])?.all(LIMIT)?;
    apache.kill_broker(0);
    apache.restart_broker(0)?;
    let mut read = java.run(&["consume", &name_server, "kill", "cg", "50", "60"])?.all(LIMIT)?;
    read.retain(|line| line.get("msgId").is_some());
    ensure(read.len() == sent.len(), || format!("{} sent, {} read after the restart", sent.len(), read.len()))
}
