mod door;
mod fixture;
mod kill;
mod migration;
mod peers;
mod properties;
mod state;
mod support;
