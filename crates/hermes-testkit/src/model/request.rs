//! What the server was asked.

use std::time::{Instant, SystemTime};

use serde_json::Value;

use super::Dialect;

/// One request as it arrived.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Counts every request of the server, probes included, from 0.
    pub index: usize,
    pub method: String,
    /// Without the query.
    pub path: String,
    pub query: String,
    /// Names in lower case, in the order in which they came.
    pub headers: Vec<(String, String)>,
    /// `Null` when the body is empty or no JSON.
    pub body: Value,
    pub raw_body: Vec<u8>,
    /// When the last byte of the request had been read.
    pub arrived: Instant,
    pub arrived_at: SystemTime,
    /// The port of the client: equal for requests on one connection.
    pub client_port: u16,
}

impl Recorded {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// `None` for probes and lists.
    pub fn dialect(&self) -> Option<Dialect> {
        (self.method == "POST")
            .then(|| Dialect::of_path(&self.path))
            .flatten()
    }

    pub fn model(&self) -> &str {
        match self.dialect() {
            Some(Dialect::Gemini) => Dialect::gemini_model(&self.path),
            _ => self.body["model"].as_str().unwrap_or(""),
        }
    }

    /// Whether the client asked for a stream of events.
    pub fn streamed(&self) -> bool {
        match self.dialect() {
            Some(Dialect::Gemini) => self.path.ends_with(":streamGenerateContent"),
            _ => self.body["stream"].as_bool().unwrap_or(false),
        }
    }

    /// The conversation as the wire format has it.
    pub fn messages(&self) -> &[Value] {
        let key = match self.dialect() {
            Some(Dialect::Responses) => "input",
            Some(Dialect::Gemini) => "contents",
            _ => "messages",
        };
        self.body[key].as_array().map_or(&[], Vec::as_slice)
    }

    pub fn last_message(&self) -> &Value {
        self.messages().last().unwrap_or(&Value::Null)
    }

    /// The names of the tools that were offered, in order.
    pub fn tool_names(&self) -> Vec<&str> {
        let tools = self.body["tools"].as_array().map_or(&[][..], Vec::as_slice);
        let nested = tools.iter().flat_map(|tool| {
            tool["functionDeclarations"]
                .as_array()
                .into_iter()
                .flatten()
        });
        tools
            .iter()
            .map(|tool| {
                tool["function"]["name"]
                    .as_str()
                    .or_else(|| tool["name"].as_str())
            })
            .chain(nested.map(|tool| tool["name"].as_str()))
            .flatten()
            .collect()
    }
}
