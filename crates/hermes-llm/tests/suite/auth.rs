//! `auth.json` and the pool, alone and under a provider that refuses keys.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use hermes_home::Clock;
use hermes_llm::auth::{
    AuthFile, CredentialPool, ManageError, PoolSpec, Seed, Status, Strategy, add_key, list, remove,
    reset,
};
use hermes_llm::wire::ApiMode;
use hermes_llm::{ErrorClass, Keys, Secret};
use hermes_testkit::TestHome;
use hermes_testkit::model::{ModelServer, Reply};
use hermes_testkit::process::{child_test, run_together};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::support::{endpoint, model_with, text};

fn clock() -> Clock {
    let at = DateTime::parse_from_rfc3339("2026-05-31T12:00:00Z").unwrap();
    Clock::fixed(at.with_timezone(&Utc))
}

fn spec(seeds: &[(&str, &str)]) -> PoolSpec {
    PoolSpec {
        name: "openrouter".to_owned(),
        strategy: Strategy::FillFirst,
        seeds: seeds
            .iter()
            .map(|(variable, key)| Seed {
                variable: (*variable).to_owned(),
                key: Secret::new(*key),
            })
            .collect(),
        base_url: "https://openrouter.ai/api/v1".to_owned(),
    }
}

fn stored(home: &TestHome) -> Value {
    serde_json::from_str(&home.read("auth.json")).unwrap()
}

#[test]
fn keys_are_added_listed_and_removed() {
    let home = TestHome::new();
    let (file, clock, spec) = (
        AuthFile::of(&home.home()),
        clock(),
        spec(&[("OPENROUTER_API_KEY", "env-key")]),
    );
    let added = add_key(&file, &clock, &spec, &Secret::new(" one "), Some("work")).unwrap();
    assert_eq!((added.number, added.label.as_str()), (2, "work"));
    let added = add_key(&file, &clock, &spec, &Secret::new("two"), None).unwrap();
    assert_eq!((added.number, added.label.as_str()), (3, "api-key-3"));
    assert!(matches!(
        add_key(&file, &clock, &spec, &Secret::new("two"), None),
        Err(ManageError::Duplicate { .. })
    ));
    assert!(matches!(
        add_key(&file, &clock, &spec, &Secret::new("  "), None),
        Err(ManageError::EmptyKey)
    ));
    let mode = std::fs::metadata(file.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // The variable's key is not written, only its fingerprint.
    assert!(!home.read("auth.json").contains("env-key"));
    let entry = &stored(&home)["credential_pool"]["openrouter"][1];
    assert_eq!(
        (entry["access_token"].as_str(), entry["source"].as_str()),
        (Some("one"), Some("manual"))
    );
    assert_eq!(entry["id"].as_str().unwrap().len(), 6);

    let rows = list(&file.read().unwrap(), &spec, &clock);
    let shown: Vec<(usize, &str, &str, bool)> = rows
        .iter()
        .map(|r| (r.number, r.label.as_str(), r.source.as_str(), r.next))
        .collect();
    assert_eq!(
        shown,
        [
            (1, "OPENROUTER_API_KEY", "env:OPENROUTER_API_KEY", true),
            (2, "work", "manual", false),
            (3, "api-key-3", "manual", false),
        ]
    );

    assert_eq!(remove(&file, &clock, &spec, "work").unwrap().number, 2);
    let error = remove(&file, &clock, &spec, "9").unwrap_err();
    assert_eq!(
        error.to_string(),
        "no credential #9 for provider openrouter"
    );
    let removed = remove(&file, &clock, &spec, "1").unwrap();
    assert_eq!(removed.variable.as_deref(), Some("OPENROUTER_API_KEY"));
    // A variable that was removed stays away although it is still set.
    let rows = list(&file.read().unwrap(), &spec, &clock);
    assert_eq!(
        rows.iter().map(|r| r.label.as_str()).collect::<Vec<_>>(),
        ["api-key-3"]
    );
}

#[test]
fn a_file_of_the_reference_is_read_and_its_unknown_fields_survive() {
    let home = TestHome::new();
    home.write("auth.json", include_str!("../fixtures/auth-0.16.0.json"));
    let (file, clock) = (AuthFile::of(&home.home()), clock());
    let spec = spec(&[("OPENROUTER_API_KEY", "sk-or-v1-0000000000000000fake")]);
    let labels: Vec<String> = list(&file.read().unwrap(), &spec, &clock)
        .into_iter()
        .map(|r| r.label)
        .collect();
    assert_eq!(labels, ["OPENROUTER_API_KEY", "work", "spare"]);
    let mut with_more = stored(&home);
    with_more["future"] = json!({"kept": true});
    with_more["credential_pool"]["openrouter"][2]["tls"] = json!("x");
    home.write("auth.json", with_more.to_string());
    add_key(&file, &clock, &spec, &Secret::new("new"), None).unwrap();
    let after = stored(&home);
    assert_eq!(after["future"], json!({"kept": true}));
    assert_eq!(after["credential_pool"]["openrouter"][2]["tls"], "x");
    assert_eq!(
        after["credential_pool"]["anthropic"],
        with_more["credential_pool"]["anthropic"]
    );
}

#[test]
fn a_broken_file_is_copied_aside_and_counts_as_empty() {
    let home = TestHome::new();
    home.write("auth.json", "{\"credential_pool\": ");
    let (file, clock, spec) = (AuthFile::of(&home.home()), clock(), spec(&[]));
    add_key(&file, &clock, &spec, &Secret::new("k"), None).unwrap();
    assert_eq!(home.read("auth.json.corrupt"), "{\"credential_pool\": ");
    assert_eq!(
        stored(&home)["credential_pool"]["openrouter"][0]["access_token"],
        "k"
    );
}

#[test]
fn a_resting_key_is_used_again_after_its_rest() {
    let home = TestHome::new();
    let (file, clock, spec) = (AuthFile::of(&home.home()), clock(), spec(&[]));
    for key in ["a", "b"] {
        add_key(&file, &clock, &spec, &Secret::new(key), Some(key)).unwrap();
    }
    let pool = || {
        CredentialPool::new(
            file.clone(),
            true,
            &file.read().unwrap(),
            spec.clone(),
            clock.clone(),
        )
    };
    let chosen = |pool: &CredentialPool| pool.choose().unwrap().1.expose().to_owned();
    let fail = |pool: &CredentialPool, status: u16| {
        let (id, _) = pool.choose().unwrap();
        let mut error = hermes_llm::ModelError::new(ErrorClass::Billing, "no credits");
        error.status = Some(status);
        pool.failed(&id, hermes_llm::KeyVerdict::Exhausted, &error)
    };
    let first = pool();
    assert!(fail(&first, 402), "another key is left");
    assert_eq!(chosen(&first), "b");
    // Another process sees it.
    assert_eq!(chosen(&pool()), "b");
    let rows = list(&file.read().unwrap(), &spec, &clock);
    assert_eq!(
        (rows[0].status, rows[0].rests_for),
        (Some(Status::Exhausted), Some(3600.0))
    );
    assert_eq!(
        stored(&home)["credential_pool"]["openrouter"][0]["last_error_code"],
        402
    );
    clock.advance(chrono::Duration::minutes(59));
    assert_eq!(chosen(&pool()), "b");
    clock.advance(chrono::Duration::minutes(2));
    assert_eq!(chosen(&pool()), "a");
    // A refused key rests five minutes only.
    assert!(fail(&pool(), 401));
    clock.advance(chrono::Duration::minutes(6));
    assert_eq!(chosen(&pool()), "a");
    // When all rest, the one that rests shortest is tried.
    let all = pool();
    fail(&all, 402);
    assert!(!fail(&all, 401), "no other key is left");
    assert_eq!(chosen(&all), "b");
    assert_eq!(reset(&file, &clock, &spec).unwrap(), 2);
    assert_eq!(chosen(&pool()), "a");
}

#[test]
fn strategies_differ() {
    let home = TestHome::new();
    let (file, clock) = (AuthFile::of(&home.home()), clock());
    for key in ["a", "b", "c"] {
        add_key(&file, &clock, &spec(&[]), &Secret::new(key), Some(key)).unwrap();
    }
    let order = |strategy: Strategy| -> String {
        let spec = PoolSpec {
            strategy,
            ..spec(&[])
        };
        let pool = CredentialPool::new(
            file.clone(),
            true,
            &file.read().unwrap(),
            spec,
            clock.clone(),
        );
        (0..4)
            .map(|_| pool.choose().unwrap().1.expose().to_owned())
            .collect()
    };
    assert_eq!(order(Strategy::FillFirst), "aaaa");
    assert_eq!(order(Strategy::RoundRobin), "abca");
    assert_eq!(order(Strategy::LeastUsed), "abca");
    let random: String = (0..20).map(|_| order(Strategy::Random)).collect();
    assert!(["a", "b", "c"].iter().all(|key| random.contains(key)));
}

/// Two keys in the pool of a home.
fn two_keys(home: &TestHome) -> (AuthFile, Keys) {
    let (file, clock, spec) = (AuthFile::of(&home.home()), Clock::System, spec(&[]));
    for key in ["first", "second"] {
        add_key(&file, &clock, &spec, &Secret::new(key), Some(key)).unwrap();
    }
    let pool = CredentialPool::new(file.clone(), true, &file.read().unwrap(), spec, clock);
    (file, Keys::Pool(Arc::new(pool)))
}

fn keys_used(server: &ModelServer) -> Vec<String> {
    server
        .requests()
        .iter()
        .map(|r| {
            r.header("authorization")
                .unwrap()
                .trim_start_matches("Bearer ")
                .to_owned()
        })
        .collect()
}

#[tokio::test]
async fn a_key_without_money_is_left_in_the_same_turn_and_marked() {
    let (home, server) = (TestHome::new(), ModelServer::start());
    server
        .push(Reply::error(402, "insufficient credits"))
        .push(Reply::text("ok"))
        .push(Reply::text("ok"));
    let (_, keys) = two_keys(&home);
    let model = model_with(endpoint(&server, ApiMode::ChatCompletions), keys);
    assert_eq!(text(&model).await.unwrap(), "ok");
    text(&model).await.unwrap();
    assert_eq!(keys_used(&server), ["first", "second", "second"]);
    let entry = &stored(&home)["credential_pool"]["openrouter"][0];
    assert_eq!(
        (entry["last_status"].as_str(), entry["label"].as_str()),
        (Some("exhausted"), Some("first"))
    );
}

#[tokio::test]
async fn attempts_are_counted_once_whatever_the_key_comes_from() {
    let clock = || Clock::System;
    for (status, lines) in [(429, 2), (401, 0)] {
        let (home, server) = (TestHome::new(), ModelServer::start());
        server.fallback(move |_| Reply::error(status, "no"));
        let file = AuthFile::of(&home.home());
        let one = spec(&[("OPENROUTER_API_KEY", "env-key")]);
        let pool = CredentialPool::new(file.clone(), true, &file.read().unwrap(), one, clock());
        let keys = Keys::Pool(Arc::new(pool));
        let model = model_with(endpoint(&server, ApiMode::ChatCompletions), keys);
        let error = text(&model).await.unwrap_err();
        let expected: Vec<String> = (1..=lines)
            .map(|n| format!("attempt {n} of 3: HTTP {status}: no"))
            .collect();
        assert_eq!(error.tried, expected);
    }
}

#[tokio::test]
async fn the_first_429_is_forgiven_the_second_is_not() {
    let (home, server) = (TestHome::new(), ModelServer::start());
    server
        .push(Reply::error(429, "slow down"))
        .push(Reply::error(429, "slow down"))
        .push(Reply::text("ok"));
    let (_, keys) = two_keys(&home);
    let model = model_with(endpoint(&server, ApiMode::ChatCompletions), keys);
    assert_eq!(text(&model).await.unwrap(), "ok");
    assert_eq!(keys_used(&server), ["first", "first", "second"]);
}

#[tokio::test]
async fn a_used_up_quota_is_not_forgiven() {
    let (home, server) = (TestHome::new(), ModelServer::start());
    server
        .push(Reply::error(429, "usage limit reached").header("Retry-After", 7200))
        .push(Reply::text("ok"));
    let (file, keys) = two_keys(&home);
    let model = model_with(endpoint(&server, ApiMode::ChatCompletions), keys);
    assert_eq!(text(&model).await.unwrap(), "ok");
    assert_eq!(keys_used(&server), ["first", "second"]);
    // The provider's own reset time counts.
    let rows = list(&file.read().unwrap(), &spec(&[]), &Clock::System);
    assert!(rows[0].rests_for.is_some_and(|left| left > 7000.0));
}

#[tokio::test]
async fn a_revoked_token_is_dead() {
    let (home, server) = (TestHome::new(), ModelServer::start());
    server
        .push(Reply::json(
            401,
            &json!({"error": {"code": "token_revoked", "message": "revoked"}}),
        ))
        .push(Reply::text("ok"));
    let (_, keys) = two_keys(&home);
    text(&model_with(
        endpoint(&server, ApiMode::ChatCompletions),
        keys,
    ))
    .await
    .unwrap();
    assert_eq!(
        stored(&home)["credential_pool"]["openrouter"][0]["last_status"],
        "dead"
    );
}

#[tokio::test]
async fn when_every_key_is_refused_the_error_says_so() {
    let (home, server) = (TestHome::new(), ModelServer::start());
    server.fallback(|_| Reply::error(401, "bad key"));
    let (_, keys) = two_keys(&home);
    let error = text(&model_with(
        endpoint(&server, ApiMode::ChatCompletions),
        keys,
    ))
    .await
    .unwrap_err();
    assert_eq!(error.class, ErrorClass::Authentication);
    assert_eq!(keys_used(&server), ["first", "second"]);
}

#[test]
fn adding_process() {
    let Ok(directory) = std::env::var("AUTH_TEST_HOME") else {
        return;
    };
    let home = hermes_home::Home::at(&directory, &directory);
    let label = std::env::var("AUTH_TEST_LABEL").unwrap();
    for n in 0..10 {
        let key = Secret::new(format!("{label}-{n}"));
        add_key(
            &AuthFile::of(&home),
            &Clock::System,
            &spec(&[]),
            &key,
            Some(key.expose()),
        )
        .unwrap();
    }
}

#[test]
fn two_processes_that_add_at_once_lose_nothing() {
    let home = TestHome::new();
    let directory = home.path().to_str().unwrap();
    let children = ["x", "y"].map(|label| {
        child_test(
            "suite::auth::adding_process",
            &[("AUTH_TEST_HOME", directory), ("AUTH_TEST_LABEL", label)],
        )
    });
    for finished in run_together(children) {
        assert!(finished.status.success(), "{finished:#?}");
    }
    let rows = list(
        &AuthFile::of(&home.home()).read().unwrap(),
        &spec(&[]),
        &Clock::System,
    );
    assert_eq!(rows.len(), 20);
}
