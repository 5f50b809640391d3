#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hermes_fuzz::front_matter(bytes));
