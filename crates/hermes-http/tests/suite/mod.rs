mod client;
mod untrusted;
