//! Proof that the checks see: every deliberately broken client is found within a stated number of cases.

#![allow(clippy::print_stdout, reason = "the table of docs/simulation.md")]

use rocketry_sim::plan::{Plan, draw, shrink};
use rocketry_sim::{Broken, Profile, run_broken};

/// Cases within which each must be found.
const WITHIN: u64 = 40;

#[test]
fn every_broken_client_is_found() {
    let mut missed = Vec::new();
    for broken in Broken::ALL {
        let found = (0..WITHIN).find_map(|seed| {
            // The first case is one in which nothing else goes wrong.
            let plan = if seed == 0 { Plan { seed, troubles: Vec::new() } } else { draw(seed) };
            let report = run_broken(&Profile::small(), &plan, broken);
            Some((seed + 1, report.violations.first()?.check))
        });
        match found {
            Some((cases, check)) => println!("| {broken:?} | {cases} | `{check}` |"),
            None => missed.push(broken),
        }
    }
    assert!(missed.is_empty(), "not found within {WITHIN} cases: {missed:?}");
}

#[test]
fn a_failing_plan_becomes_small() {
    let (profile, broken) = (Profile::small(), Broken::ForgetSendBack);
    let fails = |plan: &Plan| !run_broken(&profile, plan, broken).violations.is_empty();
    let plan = (1..WITHIN).map(draw).find(fails).expect("it is found");
    let small = shrink(&plan, 300, fails);
    println!("{} troubles became {}:\n{small}", plan.troubles.len(), small.troubles.len());
    assert!(fails(&small));
    assert!(small.troubles.len() <= 5, "{small}");
}
