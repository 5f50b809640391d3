//! Real processes only. The owner that gets killed is this test binary itself,
//! started again with a variable that makes it play the part (see `owner`).
#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::expect_used)]

mod suite {
    mod ending;
    mod helpers;
    mod output;
    mod owner;
    mod streams;
}
