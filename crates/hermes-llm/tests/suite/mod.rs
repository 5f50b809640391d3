mod auth;
mod classify;
mod decode;
mod encode;
mod fallback;
mod ladder;
mod support;
