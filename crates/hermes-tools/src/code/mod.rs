//! `execute_code`: a Python script that may call tools of the conversation.
//!
//! One interpreter is started in the sandbox, wherever that is; script, requests
//! and answers travel over its standard streams, so nothing is written to disk,
//! nothing listens and nothing is polled. Commands that the script runs through
//! `terminal` are looked at like any other.

mod environment;
mod frames;
mod run;
mod tool;

pub use environment::has_interpreter;
pub use run::CodeLimits;
pub use tool::ExecuteCodeTool;
