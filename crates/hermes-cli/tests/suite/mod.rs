mod completion;
mod frame;
mod layers;
mod profile;
mod reference;
mod sessions;
mod support;
