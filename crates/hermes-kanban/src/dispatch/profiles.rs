//! Profiles that a task can be given to.

use std::fs;

use hermes_home::Home;
use hermes_types::ProfileName;

/// Names of all profile directories and `default`, in order.
pub fn on_disk(home: &Home) -> Vec<String> {
    names(home, |_| true)
}

/// Those with a configuration of their own.
pub fn configured(home: &Home) -> Vec<String> {
    names(home, |directory| directory.join("config.yaml").is_file())
}

fn names(home: &Home, accept: impl Fn(&std::path::Path) -> bool) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(home.profiles_dir())
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.path().is_dir() && accept(&entry.path()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| ProfileName::parse(name).is_ok_and(|parsed| parsed.as_str() == name))
        .collect();
    names.push(ProfileName::DEFAULT.to_owned());
    names.sort();
    names.dedup();
    names
}

/// Every profile with what its `profile.yaml` says about it.
pub fn described(home: &Home) -> Vec<(String, Option<String>)> {
    on_disk(home)
        .into_iter()
        .map(|name| {
            let about = ProfileName::parse(&name)
                .ok()
                .and_then(|profile| {
                    fs::read_to_string(home.of_profile(&profile).join("profile.yaml")).ok()
                })
                .and_then(|text| hermes_config::yaml::parse(&text).ok()?.value().ok())
                .and_then(|value| Some(value.get("description")?.as_str()?.trim().to_owned()))
                .filter(|about| !about.is_empty());
            (name, about)
        })
        .collect()
}

/// Whether a worker can be started for `name`: its directory exists.
pub fn exists(home: &Home, name: &str) -> bool {
    ProfileName::parse(name)
        .is_ok_and(|profile| profile.is_default() || home.of_profile(&profile).path().is_dir())
}
