//! The `hermes` program: hands the process's own arguments and environment to
//! the library and ends with the code it returns.

use std::process::ExitCode;

use hermes_home::{Clock, Environment};

/// musl's own allocator is slow. That of glibc is kept: over a thousand turns it
/// holds half as much memory that is not in use.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    hermes_cli::run(
        std::env::args_os().collect(),
        Environment::of_process(),
        Clock::System,
    )
}
