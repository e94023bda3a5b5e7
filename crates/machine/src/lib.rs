//! Time, ids, timers and the contract of sans-IO machines
