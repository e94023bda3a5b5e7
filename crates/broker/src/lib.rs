//! An embedded name server and broker as pure state machines
