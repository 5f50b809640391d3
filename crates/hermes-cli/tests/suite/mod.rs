mod frame;
mod profile;
mod sessions;
mod support;
