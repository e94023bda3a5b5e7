//! Every committed seed through the fuzz body of its folder, on any compiler.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rocketry_testkit::fuzz::TARGETS;

fn fuzz_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz")
}

/// Names in a folder, without the ending `.rs`.
fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let name = |entry: fs::DirEntry| entry.file_name().into_string().expect("a plain name");
    entries.map(|entry| name(entry.unwrap()).trim_end_matches(".rs").to_owned()).collect()
}

#[test]
fn every_seed_passes() {
    for (target, body) in TARGETS {
        let folder = fuzz_folder().join("seeds").join(target);
        let seeds = names(&folder);
        assert!(seeds.len() >= 10, "{target} has only {} seeds", seeds.len());
        for seed in seeds {
            let data = fs::read(folder.join(&seed)).unwrap();
            assert!(data.len() <= 4096, "{target}/{seed}: seeds are small");
            // What a panic says beside this line is the finding.
            eprintln!("{target}/{seed}");
            body(&data);
            // A cut is the commonest fault of all.
            for end in 0..data.len() {
                body(&data[..end]);
            }
        }
    }
}

#[test]
fn targets_seeds_and_bodies_have_the_same_names() {
    let bodies: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(bodies.len(), TARGETS.len(), "a name is given twice");
    assert_eq!(names(&fuzz_folder().join("seeds")), bodies);
    assert_eq!(names(&fuzz_folder().join("fuzz_targets")), bodies);
    let manifest = fs::read_to_string(fuzz_folder().join("Cargo.toml")).unwrap();
    for body in &bodies {
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{body}.rs\"")), "{body} is not in the manifest");
    }
}
