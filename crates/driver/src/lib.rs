//! The runtime-neutral shell around the client machine
