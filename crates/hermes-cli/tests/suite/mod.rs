mod frame;
mod support;
