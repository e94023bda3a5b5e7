//! Cases: drawn plans of troubles, and the plans of bugs that were found.

use rocketry_sim::plan::{Plan, draw};
use rocketry_sim::{Profile, run};

#[test]
fn drawn_cases_break_nothing() {
    for seed in 0..300 {
        let plan = draw(seed);
        let report = run(&Profile::small(), &plan);
        assert!(report.violations.is_empty(), "{:#?}\n{plan}", report.violations);
        assert!(report.messages > 0);
    }
}

#[test]
fn nothing_goes_wrong_where_nothing_is_done() {
    let report = run(&Profile::standard(), &Plan { seed: 1, troubles: Vec::new() });
    assert!(report.violations.is_empty(), "{:#?}", report.violations);
    assert!(report.messages >= 5_500, "{}", report.messages);
    assert_eq!(report.duplicates, 0);
}

#[test]
fn the_same_plan_is_the_same_run() {
    let plan = draw(3);
    assert_eq!(run(&Profile::small(), &plan), run(&Profile::small(), &plan));
}

#[test]
fn kept_plans_stay_good() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions");
    let mut replayed = 0;
    for entry in std::fs::read_dir(folder).expect("the folder of plans") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "plan") {
            continue;
        }
        let plan: Plan = std::fs::read_to_string(&path).expect("text").parse().expect("a plan");
        for profile in [Profile::small(), Profile::standard()] {
            let report = run(&profile, &plan);
            assert!(report.violations.is_empty(), "{}: {:#?}", path.display(), report.violations);
        }
        replayed += 1;
    }
    assert!(replayed > 0);
}
