//! Model servers on this machine, looked for only when somebody without any
//! configuration starts a chat, or asks for it.
//!
//! Where is looked: at `local_servers` of the configuration, whose default is where
//! the common servers listen, and at the address that Ollama itself is told by
//! `OLLAMA_HOST`, as long as that is this machine.

use std::net::IpAddr;
use std::time::Duration;

use futures_util::future::{join, join_all};
use hermes_config::Config;
use hermes_home::env;
use hermes_http::{Http, Url};
use serde_json::Value;

/// Nothing that listens here needs longer, and a closed port answers at once.
const PATIENCE: Duration = Duration::from_millis(1500);
const OLLAMA_PORT: u16 = 11434;

/// A server that answered, with the models it offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalServer {
    /// What kind of server it is, for people.
    pub label: String,
    /// Where chat completions are spoken.
    pub base_url: String,
    pub models: Vec<String>,
}

/// Where to look, each address once.
pub fn local_places(config: &Config) -> Vec<Url> {
    let ollama = config
        .environment()
        .get_non_empty(env::OLLAMA_HOST)
        .and_then(ollama_address)
        .filter(is_this_machine);
    let listed = config
        .get("local_servers")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|entry| origin(entry.as_str()?));
    let mut places: Vec<Url> = Vec::new();
    for place in ollama.into_iter().chain(listed) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// Asks these places, all at once.
pub async fn find_local_servers(http: &Http, places: &[Url]) -> Vec<LocalServer> {
    let found = join_all(places.iter().map(|place| server_at(http, place))).await;
    found.into_iter().flatten().collect()
}

/// An address without the path below which completions are spoken.
fn origin(text: &str) -> Option<Url> {
    let text = text.trim().trim_end_matches('/');
    let text = text.strip_suffix("/v1").unwrap_or(text);
    let url = Url::parse(text).ok()?;
    (matches!(url.scheme(), "http" | "https") && url.host_str().is_some()).then_some(url)
}

/// `OLLAMA_HOST` may be a host, a port, both, or a whole address. An address to
/// listen on everywhere is asked on this machine.
fn ollama_address(text: &str) -> Option<Url> {
    let text = text.trim();
    let (with_scheme, has_scheme) = match text.contains("://") {
        true => (text.to_owned(), true),
        false if text.starts_with(':') => (format!("http://127.0.0.1{text}"), false),
        false => (format!("http://{text}"), false),
    };
    let mut url = origin(&with_scheme)?;
    // With a scheme, a missing port means the scheme's own.
    if url.port().is_none() && !has_scheme {
        url.set_port(Some(OLLAMA_PORT)).ok()?;
    }
    if host_address(&url).is_some_and(|address| address.is_unspecified()) {
        url.set_host(Some("127.0.0.1")).ok()?;
    }
    Some(url)
}

fn host_address(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    host.trim_start_matches('[')
        .trim_end_matches(']')
        .parse()
        .ok()
}

fn is_this_machine(url: &Url) -> bool {
    url.host_str() == Some("localhost")
        || host_address(url).is_some_and(|address| address.is_loopback())
}

/// `None` when nothing there lists a model.
async fn server_at(http: &Http, place: &Url) -> Option<LocalServer> {
    let list = get(http, place, "/v1/models").await?;
    let models: Vec<String> = list["data"]
        .as_array()?
        .iter()
        .filter_map(|entry| entry["id"].as_str())
        .map(str::to_owned)
        .collect();
    if models.is_empty() {
        return None;
    }
    Some(LocalServer {
        label: kind_of(http, place).await.to_owned(),
        base_url: format!("{}/v1", place.as_str().trim_end_matches('/')),
        models,
    })
}

/// Each kind answers something that the others do not.
async fn kind_of(http: &Http, place: &Url) -> &'static str {
    let ((studio, tags), (props, version)) = join(
        join(
            get(http, place, "/api/v1/models"),
            get(http, place, "/api/tags"),
        ),
        join(get(http, place, "/props"), get(http, place, "/version")),
    )
    .await;
    if studio.is_some() {
        "LM Studio"
    } else if tags.is_some_and(|tags| tags["models"].is_array()) {
        "Ollama"
    } else if props.is_some() {
        "llama.cpp"
    } else if version.is_some() {
        "vLLM"
    } else {
        "a model server"
    }
}

async fn get(http: &Http, place: &Url, path: &str) -> Option<Value> {
    let url = Url::parse(&format!("{}{path}", place.as_str().trim_end_matches('/'))).ok()?;
    let request = http.client(&url).ok()?.get(url.clone()).timeout(PATIENCE);
    let response = request.send().await.ok()?;
    match response.status().is_success() {
        true => response.json().await.ok(),
        false => None,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_address_of_ollama_is_read_as_ollama_reads_it() {
        for (text, address) in [
            ("127.0.0.1", Some("http://127.0.0.1:11434/")),
            ("127.0.0.1:9000", Some("http://127.0.0.1:9000/")),
            (":9000", Some("http://127.0.0.1:9000/")),
            ("0.0.0.0", Some("http://127.0.0.1:11434/")),
            ("http://0.0.0.0:9000", Some("http://127.0.0.1:9000/")),
            ("localhost:9000/", Some("http://localhost:9000/")),
            ("http://localhost", Some("http://localhost/")),
            ("[::1]:9000", Some("http://[::1]:9000/")),
            ("not an address", None),
        ] {
            let read = ollama_address(text);
            assert_eq!(read.as_ref().map(Url::as_str), address, "{text}");
            assert!(read.iter().all(is_this_machine), "{text}");
        }
        let elsewhere = ollama_address("192.168.1.5").unwrap();
        assert!(!is_this_machine(&elsewhere));
    }
}
