//! wip
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;
#[cfg(test)]
extern crate std;
mod clients;
mod config;
mod delay;
mod event;
mod groups;
mod hold;
mod locks;
mod log;
mod names;
mod offsets;
mod properties;
mod store;
mod topics;
mod names_ok { pub(crate) fn group(g: &str) -> bool { !g.contains(' ') } }
