//! A model server that obeys a script, over real HTTP.
//!
//! ```no_run
//! use hermes_testkit::model::{ModelServer, Reply};
//! use serde_json::json;
//!
//! let server = ModelServer::start();
//! server.push(Reply::tool_call("terminal", json!({"command": "true"})));
//! server.push(Reply::text("done"));
//! // … run the program against `server.url()` …
//! assert_eq!(server.requests().len(), 2);
//! ```
//!
//! HTTP is written by hand, because a test wants to cut a connection after an
//! exact byte, hold an answer back until it says so, and send things no server
//! library would. The server lives on a thread of its own, so that plain
//! synchronous tests can use it.

mod chat;
mod dialect;
mod gate;
mod gemini;
mod http;
mod messages;
mod reply;
mod request;
mod responses;
mod server;

pub use dialect::Dialect;
pub use gate::Gate;
pub use reply::{Reply, Tokens};
pub use request::Recorded;
pub use server::ModelServer;
