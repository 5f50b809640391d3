mod completion;
mod config;
mod frame;
mod layers;
mod profile;
mod reference;
mod sessions;
mod support;
