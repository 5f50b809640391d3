mod frame;
mod sessions;
mod support;
