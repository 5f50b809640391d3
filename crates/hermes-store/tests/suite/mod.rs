mod door;
mod fixture;
mod state;
mod support;
