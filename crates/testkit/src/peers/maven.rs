//! Jars with their dependencies, fetched once through Maven and kept.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Unavailable, guard, process};

/// The folder that keeps what was fetched.
pub(super) fn cache() -> Result<PathBuf, Unavailable> {
    let folder = match (std::env::var_os("ROCKETRY_CACHE"), std::env::var_os("HOME")) {
        (Some(folder), _) => PathBuf::from(folder),
        (None, Some(home)) => PathBuf::from(home).join(".cache/rocketry"),
        (None, None) => return Err(Unavailable("neither ROCKETRY_CACHE nor HOME is set".into())),
    };
    fs::create_dir_all(&folder).map_err(Unavailable::because)?;
    Ok(folder)
}

/// The folder with the jars of some artifacts of Apache RocketMQ and all they need at run time.
pub(super) fn jars(name: &str, artifacts: &[&str], version: &str) -> Result<PathBuf, Unavailable> {
    let kept = cache()?.join(name);
    if kept.is_dir() {
        return Ok(kept);
    }
    // Fetched beside its place and moved there whole, so that two test programs do not see each other's halves.
    let work = cache()?.join(format!("{name}.{}", std::process::id()));
    fs::create_dir_all(&work).map_err(Unavailable::because)?;
    guard::folder(&work);
    let mut fetched = fetch(&work, artifacts, version);
    for _ in 1..ATTEMPTS {
        if fetched.is_err() {
            fetched = fetch(&work, artifacts, version);
        }
    }
    if fetched.is_ok() && fs::rename(work.join("lib"), &kept).is_err() && !kept.is_dir() {
        return Err(Unavailable(format!("{} cannot be moved to its place", kept.display())));
    }
    let _ = fs::remove_dir_all(&work);
    fetched.map(|()| kept)
}

/// A download can fail for reasons that pass.
const ATTEMPTS: u32 = 3;

/// 4.2.0 names this native library by a property that only a plug-in of its own build sets; TLS is off here.
const NO_NATIVE_TLS: &str = "<exclusions><exclusion><groupId>io.netty</groupId>\
    <artifactId>netty-tcnative</artifactId></exclusion></exclusions>";

fn fetch(work: &Path, artifacts: &[&str], version: &str) -> Result<(), Unavailable> {
    let dependencies: String = artifacts
        .iter()
        .map(|artifact| {
            format!(
                "<dependency><groupId>org.apache.rocketmq</groupId><artifactId>{artifact}</artifactId>\
                 <version>{version}</version>{NO_NATIVE_TLS}</dependency>"
            )
        })
        .collect();
    let pom = format!(
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\"><modelVersion>4.0.0</modelVersion>\
         <groupId>rocketry</groupId><artifactId>peers</artifactId><version>1</version>\
         <dependencies>{dependencies}</dependencies></project>"
    );
    fs::write(work.join("pom.xml"), pom).map_err(Unavailable::because)?;
    let mut command = Command::new("mvn");
    command.args(["-q", "-B", "dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory=lib"]);
    let output = process::run(command.current_dir(work))?;
    if output.success && work.join("lib").is_dir() {
        return Ok(());
    }
    let error = output.stdout.lines().find(|line| line.contains("ERROR")).unwrap_or("it says nothing").trim();
    Err(Unavailable(format!("Maven does not fetch {artifacts:?} {version}: {error}")))
}
