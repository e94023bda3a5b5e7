//! wip
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;
#[cfg(test)]
extern crate std;
mod append;
mod clients;
pub mod config;
mod delay;
mod event;
mod groups;
mod hold;
mod locks;
mod log;
mod machines;
mod names;
mod offsets;
mod positions;
mod properties;
mod pull;
mod registrar;
mod retry;
mod schedule;
mod send;
mod server;
mod shell;
mod state;
mod store;
mod topics;
#[cfg(test)]
mod testing;
pub use machines::{Broker, Embedded, NameServer};
mod admin { use crate::{shell::*, state::*}; pub(crate) fn handle(_: &mut State, s: &mut Shell, c: &Call<'_>) { unsupported(s, c) } }
mod membership { use crate::{shell::*, state::*};
 pub(crate) fn heartbeat(_: &mut State, s: &mut Shell, c: &Call<'_>) { unsupported(s, c) }
 pub(crate) fn unregister(_: &mut State, s: &mut Shell, c: &Call<'_>) { unsupported(s, c) }
 pub(crate) fn lock(_: &mut State, s: &mut Shell, c: &Call<'_>) { unsupported(s, c) }
 pub(crate) fn unlock(_: &mut State, s: &mut Shell, c: &Call<'_>) { unsupported(s, c) }
 pub(crate) fn list(_: &mut State, s: &mut Shell, c: &Call<'_>) { unsupported(s, c) }
 pub(crate) fn check_config(s: &mut Shell, c: &Call<'_>) { unsupported(s, c) }
 pub(crate) fn on_closed(_: &mut State, _: &mut Shell, _: rocketry_machine::ConnId) { }
}
mod registration;
