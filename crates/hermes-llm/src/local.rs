//! Model servers on this machine, looked for only when somebody without any
//! configuration starts a chat.

use std::time::Duration;

use futures_util::future::join_all;
use hermes_http::{Http, Url};
use serde_json::Value;

/// Long enough for a server that is there, short enough for a person who waits.
const PATIENCE: Duration = Duration::from_millis(300);

/// Where the common servers listen unless told otherwise.
const USUAL_PLACES: [(&str, &str); 4] = [
    ("Ollama", "http://127.0.0.1:11434/v1"),
    ("LM Studio", "http://127.0.0.1:1234/v1"),
    ("llama.cpp", "http://127.0.0.1:8080/v1"),
    ("vLLM", "http://127.0.0.1:8000/v1"),
];

/// A server that answered, with the models it offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalServer {
    pub label: String,
    pub base_url: String,
    pub models: Vec<String>,
}

/// Asks the usual places, all at once.
pub async fn find_local_servers(http: &Http) -> Vec<LocalServer> {
    find_servers_at(http, &USUAL_PLACES).await
}

/// Asks these places: a name for people and an address each.
pub async fn find_servers_at(http: &Http, places: &[(&str, &str)]) -> Vec<LocalServer> {
    let asking = places.iter().map(|(label, base_url)| async move {
        let models = models_of(http, base_url).await?;
        Some(LocalServer {
            label: (*label).to_owned(),
            base_url: (*base_url).to_owned(),
            models,
        })
    });
    join_all(asking).await.into_iter().flatten().collect()
}

/// `None` when nothing there lists a model.
async fn models_of(http: &Http, base_url: &str) -> Option<Vec<String>> {
    let url = Url::parse(&format!("{base_url}/models")).ok()?;
    let request = http.client(&url).ok()?.get(url.clone()).timeout(PATIENCE);
    let list: Value = request.send().await.ok()?.json().await.ok()?;
    let names: Vec<String> = list["data"]
        .as_array()?
        .iter()
        .filter_map(|entry| entry["id"].as_str())
        .map(str::to_owned)
        .collect();
    (!names.is_empty()).then_some(names)
}
