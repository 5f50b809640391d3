//! Models opened from a home: windows, fallbacks, keys of profiles.

use hermes_config::Config;
use hermes_home::{Clock, Home};
use hermes_http::Http;
use hermes_llm::auth::{AuthFile, PoolSpec, Strategy, add_key};
use hermes_llm::catalogue::{AuthKind, providers};
use hermes_llm::resolve::{ResolveError, Selection};
use hermes_llm::wire::ApiMode;
use hermes_llm::{
    Effort, ErrorClass, LocalServer, Models, OpenError, RetryPolicy, Secret, find_local_servers,
    local_places,
};
use hermes_testkit::TestHome;
use hermes_testkit::model::{Dialect, Gate, ModelServer, Reply};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::time::Duration;

use super::support::{ask, hello, text};

fn models_in(home: &Home, environment: &hermes_home::Environment) -> Models {
    let config = Config::load(home, environment, &[]).unwrap();
    Models::new(config, home.clone(), Http::default(), Clock::System)
        .with_policy(RetryPolicy::immediate())
}

fn models(home: &TestHome) -> Models {
    models_in(&home.home(), &home.environment())
}

async fn window(home: &TestHome) -> Result<u64, OpenError> {
    Ok(models(home)
        .open(&Selection::default())
        .await?
        .model
        .context_window())
}

#[tokio::test]
async fn a_server_is_asked_for_its_window_once_and_the_answer_is_kept() {
    let (home, server) = (TestHome::new(), ModelServer::start());
    server.models(vec![
        json!({"id": ModelServer::DEFAULT_MODEL, "max_model_len": 90_000}),
    ]);
    home.config_for(&server, "");
    assert_eq!(window(&home).await.unwrap(), 90_000);
    assert_eq!(window(&home).await.unwrap(), 90_000);
    let asked: Vec<String> = server.all_requests().into_iter().map(|r| r.path).collect();
    assert_eq!(asked, ["/v1/models"]);
    std::fs::remove_file(home.path().join("context_length_cache.yaml")).unwrap();
    window(&home).await.unwrap();
    assert_eq!(server.all_requests().len(), 2);
}

#[tokio::test]
async fn a_cache_of_the_reference_is_read_and_a_broken_one_is_asked_again() {
    let (home, server) = (TestHome::new(), ModelServer::start());
    home.config_for(&server, "");
    let entry = format!(
        "context_lengths:\n  {}@{}/: 77000\n",
        ModelServer::DEFAULT_MODEL,
        server.url()
    );
    home.write("context_length_cache.yaml", entry);
    assert_eq!(window(&home).await.unwrap(), 77_000);
    assert!(server.all_requests().is_empty());
    home.write("context_length_cache.yaml", "{{{ not yaml");
    assert_eq!(window(&home).await.unwrap(), 200_000);
}

#[tokio::test]
async fn local_servers_of_other_kinds_are_asked_in_their_own_way() {
    let (home, server) = (TestHome::new(), ModelServer::start());
    server.models(vec![json!({"id": ModelServer::DEFAULT_MODEL})]);
    server.route(
        "/api/show",
        Reply::json(200, &json!({"model_info": {"x.context_length": 70_000}})),
    );
    home.config_for(&server, "");
    assert_eq!(window(&home).await.unwrap(), 70_000);
    let asked: Vec<String> = server.all_requests().into_iter().map(|r| r.path).collect();
    assert_eq!(asked, ["/v1/models", "/props", "/api/show"]);
}

#[tokio::test]
async fn only_servers_that_list_a_model_are_found_where_the_configuration_says() {
    let (home, here, empty) = (TestHome::new(), ModelServer::start(), ModelServer::start());
    empty.models(Vec::new());
    here.route("/version", Reply::json(200, &json!({"version": "1"})));
    // With the path or without it, and twice: one place.
    home.config(&format!(
        "local_servers: ['{}', '{}', '{}', 'http://127.0.0.1:9', nonsense]",
        here.origin(),
        here.url(),
        empty.origin()
    ));
    let config = Config::load(&home.home(), &home.environment(), &[]).unwrap();
    let places = local_places(&config);
    assert_eq!(places.len(), 3, "{places:?}");
    assert_eq!(
        find_local_servers(&Http::default(), &places).await,
        [LocalServer {
            label: "vLLM".to_owned(),
            base_url: here.url(),
            models: vec![ModelServer::DEFAULT_MODEL.to_owned()],
        }]
    );
}

#[tokio::test]
async fn a_window_below_64k_is_refused_unless_the_user_says_otherwise() {
    let (home, server) = (TestHome::new(), ModelServer::start());
    server.models(vec![json!({"id": "x", "context_length": 32_000})]);
    home.config_for(&server, "");
    let error = window(&home).await.unwrap_err();
    assert!(matches!(
        error,
        OpenError::Resolve(ResolveError::WindowTooSmall { window: 32_000, .. })
    ));
    assert!(error.to_string().contains("64K"), "{error}");
    home.config_for(&server, "context_length: 128000\n");
    assert_eq!(window(&home).await.unwrap(), 128_000);
}

#[tokio::test]
async fn hosted_providers_are_not_asked_for_anything() {
    let (home, server) = (TestHome::new(), ModelServer::start());
    home.config("model: {default: unheard-of, provider: deepseek}");
    let mut environment = home.environment();
    environment.set("DEEPSEEK_API_KEY", "k");
    environment.set("DEEPSEEK_BASE_URL", server.url());
    let opened = models_in(&home.home(), &environment)
        .open(&Selection::default())
        .await
        .unwrap();
    assert_eq!(opened.model.name(), "deepseek-chat");
    assert!(server.all_requests().is_empty());
}

#[tokio::test]
async fn a_window_that_a_refusal_named_is_kept_after_the_next_success() {
    let (home, server) = (TestHome::new(), ModelServer::start());
    home.config_for(&server, "");
    let model = models(&home)
        .open(&Selection::default())
        .await
        .unwrap()
        .model;
    server.push(Reply::error(
        400,
        "This model's maximum context length is 70000 tokens.",
    ));
    let error = text(&*model).await.unwrap_err();
    assert_eq!(
        (error.class, error.context_limit),
        (ErrorClass::ContextOverflow, Some(70_000))
    );
    assert_eq!(model.context_window(), 70_000);
    assert!(home.read("context_length_cache.yaml").contains("200000"));
    server.push(Reply::text("ok"));
    text(&*model).await.unwrap();
    assert!(home.read("context_length_cache.yaml").contains("70000"));
}

#[tokio::test]
async fn configured_fallbacks_stand_behind_the_model() {
    let (home, first, second) = (TestHome::new(), ModelServer::start(), ModelServer::start());
    home.config_for(
        &first,
        &format!(
            "fallback_providers:\n  - {{provider: custom, model: {0}, base_url: {1}}}\n  - {{provider: custom, model: other, base_url: {2}, api_key: fk}}\n  - {{provider: nosuch, model: x}}\n",
            ModelServer::DEFAULT_MODEL,
            first.url(),
            second.url()
        ),
    );
    let opened = models(&home).open(&Selection::default()).await.unwrap();
    assert!(
        opened.warnings[0].contains("nosuch"),
        "{:?}",
        opened.warnings
    );
    first.fallback(|_| Reply::error(401, "no"));
    second.push(Reply::text("from second"));
    assert_eq!(
        ask(&*opened.model, &hello()).await.unwrap().text,
        "from second"
    );
    // The route to the same place was left out.
    assert_eq!(first.requests().len(), 1);
    assert_eq!(
        second.requests()[0].header("authorization"),
        Some("Bearer fk")
    );
}

#[tokio::test]
async fn without_a_key_the_first_fallback_that_has_one_is_used() {
    let (home, server) = (TestHome::new(), ModelServer::start());
    home.config(&format!(
        "model: {{default: m, provider: anthropic}}\nfallback_providers:\n  - {{provider: custom, model: fb, base_url: {}}}\n",
        server.url()
    ));
    let opened = models(&home).open(&Selection::default()).await.unwrap();
    assert_eq!(
        (opened.model.name(), opened.model.provider()),
        ("fb", "custom")
    );
    assert!(
        opened.warnings[0].contains("ANTHROPIC_API_KEY"),
        "{:?}",
        opened.warnings
    );
    home.config("model: {default: m, provider: anthropic}");
    let error = models(&home)
        .open(&Selection::default())
        .await
        .err()
        .unwrap();
    assert!(error.to_string().contains("ANTHROPIC_API_KEY"), "{error}");
}

#[tokio::test]
async fn a_profile_without_keys_uses_those_of_the_root_and_never_writes_them() {
    let (home, server) = (TestHome::new(), ModelServer::start());
    let root = home.home();
    let spec = PoolSpec {
        name: "deepseek".to_owned(),
        strategy: Strategy::FillFirst,
        seeds: Vec::new(),
        base_url: String::new(),
    };
    for key in ["one", "two"] {
        add_key(
            &AuthFile::of(&root),
            &Clock::System,
            &spec,
            &Secret::new(key),
            Some(key),
        )
        .unwrap();
    }
    let before = home.read("auth.json");
    home.write(
        "profiles/coder/config.yaml",
        "model: {default: m, provider: deepseek}",
    );
    let mut environment = home.environment();
    environment.set(
        "HERMES_HOME",
        home.path().join("profiles/coder").to_str().unwrap(),
    );
    environment.set("DEEPSEEK_BASE_URL", server.url());
    let profile = Home::locate(&environment);
    server
        .push(Reply::error(402, "insufficient credits"))
        .push(Reply::text("ok"));
    let model = models_in(&profile, &environment)
        .open(&Selection::default())
        .await
        .unwrap()
        .model;
    assert_eq!(text(&*model).await.unwrap(), "ok");
    let used: Vec<_> = server
        .requests()
        .iter()
        .map(|r| r.header("authorization").unwrap().to_owned())
        .collect();
    assert_eq!(used, ["Bearer one", "Bearer two"]);
    assert_eq!(home.read("auth.json"), before);
    assert!(!home.exists("profiles/coder/auth.json"));
}

#[tokio::test]
async fn keys_of_a_named_endpoint_rotate_too() {
    // The reference looks under another name and never rotates these.
    let (home, server) = (TestHome::new(), ModelServer::start());
    home.config(&format!(
        "model: {{default: m, provider: box}}\nproviders:\n  box: {{api: '{}', context_length: 100000}}\n",
        server.url()
    ));
    let spec = PoolSpec {
        name: "custom:box".to_owned(),
        strategy: Strategy::FillFirst,
        seeds: Vec::new(),
        base_url: String::new(),
    };
    for key in ["one", "two"] {
        add_key(
            &AuthFile::of(&home.home()),
            &Clock::System,
            &spec,
            &Secret::new(key),
            None,
        )
        .unwrap();
    }
    server
        .push(Reply::error(402, "insufficient credits"))
        .push(Reply::text("ok"));
    let model = models(&home)
        .open(&Selection::default())
        .await
        .unwrap()
        .model;
    assert_eq!(text(&*model).await.unwrap(), "ok");
    assert_eq!(
        server.requests()[1].header("authorization"),
        Some("Bearer two")
    );
}

#[tokio::test]
async fn every_provider_with_a_key_is_asked_in_its_format_with_its_key() {
    let mut seen = 0;
    for provider in providers() {
        let (AuthKind::Key | AuthKind::OauthOrKey, Some(url_env)) =
            (provider.auth, &provider.url_env)
        else {
            continue;
        };
        let (home, server) = (TestHome::new(), ModelServer::start());
        let mut environment = home.environment();
        environment.set(&provider.keys[0], "the-key");
        environment.set(url_env, server.url());
        server.push(Reply::text("ok"));
        let selection = Selection::of(Some(&provider.id), Some("some-model"));
        let opened = models_in(&home.home(), &environment).open(&selection).await;
        assert_eq!(
            text(&*opened.unwrap().model).await.unwrap(),
            "ok",
            "{}",
            provider.id
        );
        let request = &server.requests()[0];
        let (dialect, header) = match provider.mode {
            ApiMode::ChatCompletions => (Dialect::Chat, "authorization"),
            ApiMode::AnthropicMessages => (Dialect::Messages, "authorization"),
            ApiMode::Responses => (Dialect::Responses, "authorization"),
            ApiMode::Gemini => (Dialect::Gemini, "x-goog-api-key"),
        };
        assert_eq!(request.dialect(), Some(dialect), "{}", provider.id);
        let header = if provider.id == "anthropic" {
            "x-api-key"
        } else {
            header
        };
        let sent = request.header(header).unwrap_or("");
        assert!(
            sent.ends_with("the-key"),
            "{}: {header} is {sent:?}",
            provider.id
        );
        if provider.id == "openrouter" {
            for name in [
                "http-referer",
                "x-title",
                "x-openrouter-categories",
                "x-openrouter-cache",
            ] {
                assert!(request.header(name).is_some(), "{name}");
            }
        }
        seen += 1;
    }
    assert_eq!(seen, 25);
}

#[tokio::test]
async fn what_was_learnt_counts_more_than_what_is_published_and_less_than_the_user() {
    let (home, server) = (TestHome::new(), ModelServer::start());
    let mut environment = home.environment();
    environment.set("DEEPSEEK_API_KEY", "k");
    environment.set("DEEPSEEK_BASE_URL", server.url());
    let window = async |yaml: &str| {
        home.config(yaml);
        let models = models_in(&home.home(), &environment);
        let opened = models.open(&Selection::default()).await.unwrap();
        opened.model.context_window()
    };
    let plain = "model: {default: deepseek-chat, provider: deepseek}";
    assert_eq!(window(plain).await, 1_000_000);
    home.write(
        "context_length_cache.yaml",
        format!(
            "context_lengths:\n  deepseek-chat@{}: 131072\n",
            server.url()
        ),
    );
    assert_eq!(window(plain).await, 131_072);
    let said = "model: {default: deepseek-chat, provider: deepseek, context_length: 90000}";
    assert_eq!(window(said).await, 90_000);
    assert!(server.all_requests().is_empty());
}

#[tokio::test]
async fn a_router_is_asked_once_about_a_model_that_no_table_has() {
    let (home, server) = (TestHome::new(), ModelServer::start());
    server.models(vec![
        json!({"id": "acme/new", "context_length": 88_000}),
        json!({"id": "acme/other", "context_length": 9_000}),
    ]);
    let mut environment = home.environment();
    environment.set("OPENROUTER_API_KEY", "k");
    environment.set("OPENROUTER_BASE_URL", server.url());
    let window = async |model: &str| {
        let selection = Selection::of(Some("openrouter"), Some(model));
        let models = models_in(&home.home(), &environment);
        models
            .open(&selection)
            .await
            .unwrap()
            .model
            .context_window()
    };
    assert_eq!(window("acme/new").await, 88_000);
    assert_eq!(window("acme/new").await, 88_000);
    assert_eq!(server.all_requests().len(), 1);
    // Nobody is asked about what is published, and silence is no answer.
    assert_eq!(window("claude-opus-4.6").await, 1_000_000);
    assert_eq!(server.all_requests().len(), 1);
    assert_eq!(window("acme/unheard-of").await, 256_000);
}

#[tokio::test]
async fn lm_studio_loads_a_model_with_enough_room_and_is_told_efforts_it_knows() {
    let (home, server) = (TestHome::new(), ModelServer::start());
    let list = |loaded: serde_json::Value| {
        let entry = json!({
            "key": "org/model", "max_context_length": 131_072, "loaded_instances": loaded,
            "capabilities": {"reasoning": {"allowed_options": ["off", "low", "high"]}},
        });
        Reply::json(200, &json!({"models": [entry]}))
    };
    server.route("/api/v1/models", list(json!([])));
    server.route(
        "/api/v1/models/load",
        Reply::json(200, &json!({"status": "loaded"})),
    );
    let mut environment = home.environment();
    environment.set("LM_BASE_URL", server.url());
    let selection = Selection::of(Some("lmstudio"), Some("org/model"));
    let opened = models_in(&home.home(), &environment)
        .open(&selection)
        .await
        .unwrap();
    assert_eq!(opened.model.context_window(), 64_000);
    let order = server.all_requests().pop().unwrap();
    assert_eq!(order.path, "/api/v1/models/load");
    assert_eq!(
        order.body,
        json!({"model": "org/model", "context_length": 64_000})
    );
    for (effort, sent) in [
        (Effort::XHigh, Some("high")),
        (Effort::Minimal, Some("low")),
        (Effort::None, Some("off")),
        (Effort::Medium, None),
    ] {
        server.push(Reply::text("ok"));
        let mut request = hello();
        request.limits.effort = Some(effort);
        ask(&*opened.model, &request).await.unwrap();
        let body = server.requests().pop().unwrap().body;
        let word = body.get("reasoning_effort").and_then(|word| word.as_str());
        assert_eq!(word, sent, "{effort:?}");
    }
    // A model that is loaded well is left alone.
    let asked = server.all_requests().len();
    server.route(
        "/api/v1/models",
        list(json!([{"id": "org/model", "config": {"context_length": 100_000}}])),
    );
    let opened = models_in(&home.home(), &environment)
        .open(&selection)
        .await
        .unwrap();
    assert_eq!(opened.model.context_window(), 100_000);
    assert_eq!(server.all_requests().len(), asked + 1);
}

#[tokio::test]
async fn a_hosted_provider_that_does_not_answer_holds_nobody_up() {
    let (home, server, gate) = (TestHome::new(), ModelServer::start(), Gate::new());
    server.route(
        "/v1/models",
        Reply::json(200, &json!({"data": []})).held_by(&gate),
    );
    let mut environment = home.environment();
    environment.set("OPENROUTER_API_KEY", "k");
    environment.set("OPENROUTER_BASE_URL", server.url());
    let models = models_in(&home.home(), &environment);
    let selection = Selection::of(Some("openrouter"), Some("acme/new"));
    let opening = models.open(&selection);
    // Two seconds of patience; a loaded machine may take longer to notice.
    let opened = tokio::time::timeout(Duration::from_secs(10), opening).await;
    assert_eq!(opened.unwrap().unwrap().model.context_window(), 256_000);
    gate.release();
}

#[tokio::test]
async fn upstream_17929_a_single_key_that_is_used_up_does_not_hide_the_fallback() {
    let (home, first, second) = (TestHome::new(), ModelServer::start(), ModelServer::start());
    home.config(&format!(
        "model: {{default: deepseek-chat, provider: deepseek, base_url: '{}'}}\nfallback_providers:\n  - {{provider: custom, model: other, base_url: '{}'}}\n",
        first.url(),
        second.url()
    ));
    let spec = PoolSpec {
        name: "deepseek".to_owned(),
        strategy: Strategy::FillFirst,
        seeds: Vec::new(),
        base_url: String::new(),
    };
    let file = AuthFile::of(&home.home());
    add_key(&file, &Clock::System, &spec, &Secret::new("only"), None).unwrap();
    first.fallback(|_| Reply::error(402, "insufficient credits"));
    for _ in 0..2 {
        second.push(Reply::text("from second"));
        // Another process each time: what is known is in the file.
        let opened = models(&home).open(&Selection::default()).await.unwrap();
        assert_eq!(text(&*opened.model).await.unwrap(), "from second");
    }
    let stored = home.read("auth.json");
    assert!(stored.contains("\"exhausted\""), "{stored}");
}
