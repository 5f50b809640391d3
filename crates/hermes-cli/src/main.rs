//! The `hermes` program: hands the process's own arguments and environment to
//! the library and ends with the code it returns.

use std::process::ExitCode;

use hermes_home::{Clock, Environment};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    hermes_cli::run(
        std::env::args_os().collect(),
        Environment::of_process(),
        Clock::System,
    )
}
