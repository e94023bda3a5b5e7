//! Making a failing plan small: troubles are left out and shortened as long as it still fails.

use std::time::Duration;

use super::Plan;

/// The smallest plan that was found which still fails, with at most so many trials.
pub fn shrink(plan: &Plan, trials: usize, mut fails: impl FnMut(&Plan) -> bool) -> Plan {
    let mut best = plan.clone();
    let mut left = trials;
    let mut try_out = |candidate: Plan, best: &mut Plan| {
        if left == 0 {
            return false;
        }
        left -= 1;
        let still = fails(&candidate);
        if still {
            *best = candidate;
        }
        still
    };
    let mut size = best.troubles.len().div_ceil(2);
    while size > 0 {
        let mut at = 0;
        let mut smaller = false;
        while at < best.troubles.len() {
            let mut candidate = best.clone();
            candidate.troubles.drain(at..(at + size).min(candidate.troubles.len()));
            if try_out(candidate, &mut best) {
                smaller = true;
            } else {
                at += size;
            }
        }
        if !smaller {
            size /= 2;
        }
    }
    for at in 0..best.troubles.len() {
        while best.troubles[at].lasts > Duration::from_millis(500) {
            let mut candidate = best.clone();
            candidate.troubles[at].lasts /= 2;
            if !try_out(candidate, &mut best) {
                break;
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::super::{Part, Trouble, What};
    use super::*;

    #[test]
    fn what_does_not_matter_is_left_out() {
        let trouble = |at: u64, what| Trouble { at: Duration::from_secs(at), lasts: Duration::from_secs(64), what };
        let troubles = (0..20).map(|at| trouble(at, if at == 7 { What::Join } else { What::Pause(Part::Sender) }));
        let plan = Plan { seed: 1, troubles: troubles.collect() };
        let fails = |plan: &Plan| {
            let joins = |trouble: &Trouble| trouble.what == What::Join && trouble.lasts >= Duration::from_secs(4);
            plan.troubles.iter().any(joins) && plan.troubles.iter().any(|trouble| trouble.what != What::Join)
        };
        let small = shrink(&plan, 1_000, fails);
        assert_eq!(small.troubles.len(), 2);
        assert!(fails(&small));
        assert!(small.troubles.iter().all(|trouble| trouble.lasts <= Duration::from_secs(4)));
    }
}
