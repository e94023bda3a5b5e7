//! Golden values, generators, fuzz bodies, scenarios and real peers for tests
