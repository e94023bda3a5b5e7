//! What the shape of the tree must be: sizes, the crate graph, purity, dependency trees, the copies of the vectors, and the
//! list of features naming tests that exist.
//!
//! A ratchet: an exception is a named line with a number that may only fall, and must fall with what it excuses.

#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const FILE_LINES: usize = 600;
const CLIENT_LINES: usize = 400;
const PUBLIC_VARIANTS: usize = 16;

/// Files that are longer, with the lines that they may have.
const LONGER: &[(&str, usize)] = &[];

/// Public enums with more variants, and how many they may have.
/// The simulator's lists of troubles and of mistakes are what they list.
const MORE_VARIANTS: &[(&str, usize)] = &[("Broken", 23), ("What", 25)];

/// Pure crates: `no_std`, no clock, no socket, no thread.
const PURE: &[&str] = &["machine", "codec", "core", "broker"];

/// The order of the crates: each depends only on those before it.
const ORDER: &[&str] =
    &["machine", "codec", "compress", "core", "broker", "driver", "sim", "tokio", "smol", "testkit", "cli"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the project's folder").to_owned()
}

fn sources() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> =
        ["crates", "tests", "benches", "fuzz"].iter().map(|name| root().join(name)).collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                if path.file_name().is_none_or(|name| name != "target" && name != "corpus" && name != "artifacts") {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(found.len() > 100, "the scan found only {} files", found.len());
    found
}

fn name(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// Holds a size against its limit, or against the exception of this name, which is used up.
fn hold(excused: &mut Vec<(&str, usize)>, name: &str, size: usize, limit: usize, what: &str) {
    match excused.iter().position(|(known, _)| *known == name) {
        None => assert!(size <= limit, "{name} has {size} {what}, {limit} are allowed"),
        Some(at) => {
            let (_, number) = excused.swap_remove(at);
            assert!(size == number && size > limit, "{name} has {size} {what}: make its exception follow, downwards");
        }
    }
}

#[test]
fn files_are_rooms_not_halls() {
    let mut excused = LONGER.to_vec();
    for path in sources() {
        let lines = fs::read_to_string(&path).expect("text").lines().count();
        hold(&mut excused, &name(&path), lines, FILE_LINES, "lines");
    }
    assert!(excused.is_empty(), "nothing to excuse any more: {excused:?}");
    let dispatcher = fs::read_to_string(root().join("crates/core/src/client.rs")).expect("client.rs");
    assert!(dispatcher.lines().count() <= CLIENT_LINES, "client.rs dispatches and does nothing else");
}

#[test]
fn public_enums_stay_small() {
    let mut excused = MORE_VARIANTS.to_vec();
    for path in sources() {
        let text = fs::read_to_string(&path).expect("text");
        for part in text.split("\npub enum ").skip(1) {
            let enum_name: String = part.chars().take_while(|c| c.is_alphanumeric()).collect();
            let body = part.split("\n}").next().unwrap_or_default();
            // Variants stand four blanks in, with a capital letter.
            let variants = body
                .lines()
                .filter(|line| {
                    line.strip_prefix("    ").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
                })
                .count();
            hold(&mut excused, &enum_name, variants, PUBLIC_VARIANTS, "public variants");
        }
    }
    assert!(excused.is_empty(), "nothing to excuse any more: {excused:?}");
}

#[test]
fn nothing_is_left_to_do_without_an_issue() {
    let marks = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("todo", "!("), concat!("unimplemented", "!(")];
    for path in sources() {
        for (number, line) in fs::read_to_string(&path).expect("text").lines().enumerate() {
            let marked = marks.iter().any(|mark| line.contains(mark)) && !line.contains("issue ");
            assert!(!marked, "{}:{}: {line}", name(&path), number + 1);
        }
    }
}

/// The crates of ours that a manifest names under `[dependencies]`.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let sections = manifest.split("\n[").filter(|part| part.starts_with("dependencies]"));
    let ours = sections.flat_map(str::lines).filter_map(|line| line.strip_prefix("rocketry-"));
    ours.map(|rest| rest.chars().take_while(|c| c.is_alphanumeric()).collect()).collect()
}

#[test]
fn crates_depend_only_downwards() {
    let place: BTreeMap<&str, usize> = ORDER.iter().enumerate().map(|(at, name)| (*name, at)).collect();
    for (at, name) in ORDER.iter().enumerate() {
        let manifest = fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")).expect(name);
        // One place to look at; what unsafe code, and every lint, is allowed stands in the workspace.
        assert!(!manifest.contains("[dependencies.") && !manifest.contains("[target."), "{name}: a plain list");
        assert!(manifest.contains("[lints]\nworkspace = true"), "{name} does not take the workspace's lints");
        for dependency in dependencies(&manifest) {
            assert!(place[dependency.as_str()] < at, "{name} depends on {dependency}");
            assert!(!(*name == "broker" && dependency == "core"), "the broker must not share the client's mistakes");
            assert!(!(*name == "smol" && dependency == "tokio"), "adapters do not know each other");
        }
    }
}

#[test]
fn every_crate_has_its_place() {
    let mut found: Vec<String> = fs::read_dir(root().join("crates"))
        .expect("crates")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let mut ordered = ORDER.to_vec();
    found.sort();
    ordered.sort_unstable();
    assert_eq!(found, ordered);
}

#[test]
fn pure_crates_cannot_name_a_clock() {
    for pure in PURE {
        let folder = root().join("crates").join(pure).join("src");
        let top = fs::read_to_string(folder.join("lib.rs")).expect("lib.rs");
        assert!(top.contains("#![no_std]"), "{pure} is not no_std");
        assert!(top.contains("#![forbid(unsafe_code)]"), "{pure} does not forbid unsafe code");
        // Unit tests may use std, in files of their own too.
        let is_product = |path: &&PathBuf| {
            path.starts_with(&folder) && path.file_name().is_some_and(|file| file != "tests.rs" && file != "testing.rs")
        };
        for path in sources().iter().filter(is_product) {
            let text = fs::read_to_string(path).expect("text");
            // `extern crate std` serves unit tests alone.
            let product = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
            for (number, line) in product.lines().enumerate() {
                let code = line.split("//").next().unwrap_or_default();
                assert!(!code.contains("std::"), "{}:{}: {line}", name(path), number + 1);
            }
        }
    }
}

/// Third-party packages in the normal dependency tree of a crate.
fn tree(package: &str) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--quiet",
            "-e",
            "normal",
            "--no-default-features",
            "--prefix",
            "none",
            "-f",
            "{p}",
            "-p",
            package,
        ])
        .current_dir(root())
        .output()
        .expect("cargo tree runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    let packages = text.lines().filter(|line| !line.starts_with("rocketry-") && !line.trim().is_empty());
    packages.map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn dependency_trees_stay_small() {
    for (package, limit) in [("rocketry-core", 20), ("rocketry-tokio", 45), ("rocketry-smol", 60)] {
        let packages = tree(package);
        assert!(
            packages.len() <= limit,
            "{package} needs {} packages, {limit} are allowed: {packages:?}",
            packages.len()
        );
    }
}

#[test]
fn smol_has_no_tokio_in_its_tree() {
    let packages = tree("rocketry-smol");
    assert!(!packages.iter().any(|package| package.starts_with("tokio")), "{packages:?}");
}

#[test]
fn copies_of_the_vectors_are_equal_to_their_originals() {
    for file in rocketry_testkit::vectors::names() {
        if let Some(original) = rocketry_testkit::vectors::shared(&file) {
            let copy = fs::read(rocketry_testkit::vectors::data().join(&file)).expect("the copy");
            assert!(copy == fs::read(original).expect("the original"), "{file} differs from its original");
        }
    }
}

/// `docs/parity.md` says what is built and which test shows it: a row cannot name a test that does not exist, and no row
/// can call a feature built without naming one.
#[test]
fn the_list_of_features_names_tests_that_exist() {
    let text = fs::read_to_string(root().join("docs/parity.md")).expect("docs/parity.md");
    let mut rows = 0;
    for line in text.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let &[feature, _, state, shown] = cells.as_slice() else { panic!("four columns: {line}") };
        if matches!(state, "state" | "---") {
            continue;
        }
        rows += 1;
        let names: Vec<&str> = shown.split('`').skip(1).step_by(2).collect();
        match state {
            "planned" => assert!(names.is_empty(), "{feature} is planned and shown by {names:?}"),
            "built" | "partly" => assert!(!names.is_empty(), "{feature} is {state}, and nothing shows it"),
            other => panic!("{feature}: the state is planned, partly or built, not {other}"),
        }
        for test in names {
            let (file, function) = test.split_once("::").unwrap_or((test, ""));
            let found =
                fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{feature}: {file}: {error}"));
            assert!(found.contains(function), "{feature}: {file} has no {function}");
        }
    }
    assert!(rows >= 60, "the list has only {rows} rows");
}
