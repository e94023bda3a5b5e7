//! wip
pub(crate) mod tables;
use crate::{shell::*, config::*};
#[derive(Debug)]
pub(crate) struct Names(tables::Tables);
impl Names {
  pub(crate) fn new(c: NameServerConfig, _: &mut Shell) -> Self { Self(tables::Tables::new(c.broker_expiry, c.limits)) }
  pub(crate) fn serves(_: rocketry_codec::codes::RequestCode) -> bool { true }
  pub(crate) fn on_request(&mut self, _: &mut Shell, _: &Call<'_>) {}
  pub(crate) fn on_closed(&mut self, _: rocketry_machine::ConnId) {}
  pub(crate) fn on_scan(&mut self, _: &mut Shell) {}
  pub(crate) fn register_local(&mut self, _: rocketry_machine::Moment, _: tables::Registration) {}
}
