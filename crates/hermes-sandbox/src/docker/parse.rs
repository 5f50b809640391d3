//! The engines' JSON and times, as values. Docker and podman spell a few fields
//! differently; everything missing is simply not known.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::Deserialize;

use super::engine::{Container, ContainerId, Details, State};
use super::settings::Spec;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", default)]
#[derive(Default)]
struct Inspected {
    id: String,
    name: String,
    created: String,
    state: InspectedState,
    config: InspectedConfig,
    host_config: InspectedHost,
    mounts: Vec<InspectedMount>,
    /// Podman's word for the image as it was asked for.
    image_name: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct InspectedState {
    status: String,
    finished_at: String,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct InspectedConfig {
    image: String,
    user: String,
    labels: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct InspectedHost {
    memory: i64,
    nano_cpus: i64,
    network_mode: String,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct InspectedMount {
    #[serde(rename = "Type")]
    kind: String,
    source: String,
    destination: String,
}

/// The answer of `inspect`: an array, of which every element is one container.
pub(crate) fn inspected(json: &[u8]) -> Result<Vec<Container>, serde_json::Error> {
    let all: Vec<Inspected> = serde_json::from_slice(json)?;
    Ok(all.into_iter().map(from_inspected).collect())
}

/// The same of the engine's socket, which answers with one object.
pub(crate) fn inspected_one(json: &[u8]) -> Result<Container, serde_json::Error> {
    serde_json::from_slice(json).map(from_inspected)
}

fn from_inspected(raw: Inspected) -> Container {
    Container {
        id: ContainerId::new(raw.id),
        name: raw.name.trim_start_matches('/').to_owned(),
        state: State::parse(&raw.state.status),
        image: raw.image_name.unwrap_or(raw.config.image),
        labels: raw.config.labels.unwrap_or_default(),
        created: time(&raw.created),
        binds: binds(raw.mounts),
        network_mode: Some(raw.host_config.network_mode),
        details: Some(Details {
            finished: time(&raw.state.finished_at),
            memory_bytes: u64::try_from(raw.host_config.memory).unwrap_or(0),
            nano_cpus: u64::try_from(raw.host_config.nano_cpus).unwrap_or(0),
            user: raw.config.user,
        }),
    }
}

fn binds(mounts: Vec<InspectedMount>) -> BTreeMap<String, String> {
    mounts
        .into_iter()
        .filter(|mount| mount.kind == "bind")
        .map(|mount| (mount.destination, mount.source))
        .collect()
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct Listed {
    id: String,
    names: Vec<String>,
    image: String,
    created: i64,
    labels: Option<BTreeMap<String, String>>,
    state: String,
    mounts: Vec<InspectedMount>,
    host_config: Option<InspectedHost>,
}

/// The answer of `GET /containers/json`.
pub(crate) fn listed(json: &[u8]) -> Result<Vec<Container>, serde_json::Error> {
    let all: Vec<Listed> = serde_json::from_slice(json)?;
    Ok(all
        .into_iter()
        .map(|raw| Container {
            id: ContainerId::new(raw.id),
            name: raw
                .names
                .first()
                .map(|name| name.trim_start_matches('/').to_owned())
                .unwrap_or_default(),
            state: State::parse(&raw.state),
            image: raw.image,
            labels: raw.labels.unwrap_or_default(),
            created: DateTime::from_timestamp(raw.created, 0),
            binds: binds(raw.mounts),
            network_mode: raw.host_config.map(|host| host.network_mode),
            details: None,
        })
        .collect())
}

/// An engine's time: RFC 3339 with up to nine fractional digits. The year one
/// means "never", and so does anything unreadable.
pub(crate) fn time(text: &str) -> Option<DateTime<Utc>> {
    let time = DateTime::parse_from_rfc3339(text.trim())
        .ok()?
        .with_timezone(&Utc);
    (time.timestamp() > 0).then_some(time)
}

/// The settings that can be read off a container which left no record of them.
pub(crate) fn spec_of(container: &Container) -> Spec {
    let Some(details) = &container.details else {
        return Spec::default();
    };
    let user = match details.user.as_str() {
        "" => "image default",
        user => user,
    };
    Spec(BTreeMap::from([
        ("docker_image".to_owned(), container.image.clone()),
        (
            "container_cpu".to_owned(),
            format!("{}", details.nano_cpus as f64 / 1e9),
        ),
        (
            "container_memory".to_owned(),
            (details.memory_bytes / (1024 * 1024)).to_string(),
        ),
        ("docker_run_as_host_user".to_owned(), user.to_owned()),
        (
            "docker_network".to_owned(),
            (container.network_mode.as_deref() != Some("none")).to_string(),
        ),
        (
            "container_persistent".to_owned(),
            container.binds.contains_key("/root").to_string(),
        ),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    const INSPECT: &str = include_str!("../../tests/fixtures/docker/inspect-default.json");

    #[test]
    fn finished_times_parse_and_never_is_none() {
        assert_eq!(
            time("2026-11-15T07:24:53.353990984Z\n").map(|t| t.timestamp()),
            Some(1_794_727_493)
        );
        assert!(time("2026-11-15T09:24:53.3+02:00").is_some());
        for never in [
            "0001-01-01T00:00:00Z",
            "",
            "yesterday",
            "2026-13-01T00:00:00Z",
        ] {
            assert_eq!(time(never), None, "{never}");
        }
    }

    #[test]
    fn a_container_of_the_reference_shows_its_settings() {
        let container = inspected(format!("[{INSPECT}]").as_bytes())
            .expect("fixture")
            .remove(0);
        assert_eq!(container.name, "hermes-2d5e7a12");
        assert_eq!(container.label("hermes-profile"), Some("builder"));
        let spec = spec_of(&container);
        assert_eq!(spec.0["docker_image"], "sandbox-image:latest");
        assert_eq!(spec.0["container_memory"], "5120");
        assert_eq!(spec.0["container_cpu"], "1");
        assert_eq!(spec.0["container_persistent"], "true");
        assert_eq!(spec.0["docker_network"], "true");
        assert_eq!(spec.0["docker_run_as_host_user"], "image default");
    }

    #[test]
    fn an_unreadable_answer_is_an_error_and_an_empty_one_is_nothing() {
        assert!(inspected(b"{").is_err());
        assert_eq!(inspected(b"[]").expect("empty"), vec![]);
        assert!(listed(b"oops").is_err());
    }
}
