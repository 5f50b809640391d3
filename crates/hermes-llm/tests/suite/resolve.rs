//! Configuration, variables and keys in; an endpoint or a sentence out.

use hermes_config::Config;
use hermes_home::Environment;
use hermes_llm::auth::AuthData;
use hermes_llm::catalogue::{AuthKind, providers};
use hermes_llm::resolve::{ResolveError, Resolved, Selection, Sources, fallback_routes, resolve};
use hermes_llm::wire::{
    ApiMode, CacheLayout, Echo, OutputCapField, ReasoningStyle, SchemaDialect, SessionHint,
};
use hermes_llm::{AuthStyle, Endpoint};
use pretty_assertions::assert_eq;

fn environment(pairs: &[(&str, &str)]) -> Environment {
    pairs
        .iter()
        .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
        .collect()
}

fn resolved(
    selection: &Selection,
    yaml: &str,
    variables: &[(&str, &str)],
) -> Result<Resolved, ResolveError> {
    let config = Config::from_yaml(yaml).unwrap();
    resolve(
        selection,
        &Sources {
            config: config.effective(),
            environment: &environment(variables),
            auth: &AuthData::default(),
        },
    )
}

fn endpoint(yaml: &str, variables: &[(&str, &str)]) -> Endpoint {
    resolved(&Selection::default(), yaml, variables)
        .unwrap()
        .endpoint
}

fn key(endpoint: &Endpoint) -> Option<&str> {
    endpoint.key.as_ref().map(|key| key.expose())
}

#[test]
fn a_custom_server_needs_an_address_and_a_model_only() {
    let endpoint = endpoint(
        "model:\n  default: my-model\n  provider: custom\n  base_url: http://127.0.0.1:8080/v1\n",
        &[],
    );
    assert_eq!(
        (
            endpoint.provider.as_str(),
            endpoint.model(),
            endpoint.base_url.as_str(),
            endpoint.mode
        ),
        (
            "custom",
            "my-model",
            "http://127.0.0.1:8080/v1",
            ApiMode::ChatCompletions
        )
    );
    assert!(endpoint.is_local && endpoint.key.is_none());
}

#[test]
fn flags_win_over_config_and_config_over_variables() {
    let yaml = "model:\n  default: from-config\n  provider: deepseek\n";
    let variables = [
        ("DEEPSEEK_API_KEY", "d"),
        ("ANTHROPIC_API_KEY", "a"),
        ("HERMES_INFERENCE_PROVIDER", "zai"),
        ("HERMES_INFERENCE_MODEL", "from-variable"),
    ];
    assert_eq!(endpoint(yaml, &variables).provider, "deepseek");
    let flagged = resolved(
        &Selection::of(Some("claude"), Some("claude-opus-4.6")),
        yaml,
        &variables,
    )
    .unwrap();
    assert_eq!(
        (flagged.endpoint.provider.as_str(), flagged.endpoint.model()),
        ("anthropic", "claude-opus-4-6")
    );
    let only_variables = endpoint("", &[("GLM_API_KEY", "g"), variables[2], variables[3]]);
    assert_eq!(
        (only_variables.provider.as_str(), only_variables.model()),
        ("zai", "from-variable")
    );
}

#[test]
fn a_key_alone_chooses_its_provider_in_a_fixed_order() {
    for (variables, expected) in [
        (
            &[("OPENROUTER_API_KEY", "k"), ("ANTHROPIC_API_KEY", "a")][..],
            "openrouter",
        ),
        (
            &[("ANTHROPIC_API_KEY", "a"), ("DEEPSEEK_API_KEY", "d")][..],
            "anthropic",
        ),
        (&[("OPENAI_API_KEY", "sk-or-v1-x")][..], "openrouter"),
        // The key of one company is not sent to another.
        (&[("OPENAI_API_KEY", "sk-proj-x")][..], "openai-api"),
        (
            &[("HF_TOKEN", "h"), ("GITHUB_TOKEN", "never by itself")][..],
            "huggingface",
        ),
    ] {
        assert_eq!(
            endpoint("model: some-model", variables).provider,
            expected,
            "{variables:?}"
        );
    }
    assert_eq!(
        resolved(
            &Selection::default(),
            "model: m",
            &[("GITHUB_TOKEN", "x"), ("LM_API_KEY", "x")]
        ),
        Err(ResolveError::NothingConfigured)
    );
}

#[test]
fn every_provider_with_a_key_resolves_to_its_row() {
    let mut seen = 0;
    for provider in providers() {
        if !matches!(provider.auth, AuthKind::Key | AuthKind::OauthOrKey) {
            continue;
        }
        let variable = provider.keys[0].as_str();
        let mut variables = vec![(variable, "the-key")];
        if let Some(url_env) = &provider.url_env {
            variables.push((url_env, "http://127.0.0.1:9/base"));
        }
        let selection = Selection::of(Some(&provider.id), Some("some-model"));
        let endpoint = resolved(&selection, "", &variables).unwrap().endpoint;
        assert_eq!(endpoint.provider, provider.id);
        assert_eq!(key(&endpoint), Some("the-key"), "{}", provider.id);
        assert_eq!(endpoint.mode, provider.mode, "{}", provider.id);
        if provider.url_env.is_some() {
            assert_eq!(
                endpoint.base_url.as_str(),
                "http://127.0.0.1:9/base",
                "{}",
                provider.id
            );
        } else {
            assert_eq!(
                endpoint.base_url.as_str(),
                provider.base_url,
                "{}",
                provider.id
            );
        }
        seen += 1;
    }
    assert_eq!(seen, 28);
}

#[test]
fn what_is_missing_is_named_with_the_way_out() {
    let selection = |provider| Selection::of(Some(provider), Some("m"));
    for (selection, yaml, sentence, hint) in [
        (
            selection("nosuch"),
            "",
            "unknown provider \"nosuch\"",
            "config.yaml",
        ),
        (
            selection("antropic"),
            "",
            "unknown provider \"antropic\"",
            "`anthropic`",
        ),
        (
            selection("deepseek"),
            "",
            "no key for DeepSeek: DEEPSEEK_API_KEY is not set and no key is stored",
            "hermes auth add deepseek",
        ),
        (
            selection("custom"),
            "",
            "no address is set for provider custom",
            "model.base_url",
        ),
        (
            selection("bedrock"),
            "",
            "AWS Bedrock is reached by requests signed for AWS, which is not built yet",
            "API key",
        ),
        (
            selection("openai-codex"),
            "",
            "OpenAI Codex login is reached by a login in the browser, which is not built yet",
            "API key",
        ),
        (
            Selection::default(),
            "model: m",
            "no model provider is set up",
            "OPENROUTER_API_KEY",
        ),
        (
            Selection::default(),
            "model: {provider: custom, base_url: 'http://x/v1'}",
            "no model is set for provider custom",
            "-m MODEL",
        ),
        (
            Selection::default(),
            "model: {default: m, provider: custom, base_url: 'not a url'}",
            "\"not a url\" is not a usable address: relative URL without a base",
            "https://host/v1",
        ),
        (
            Selection::default(),
            "model: {default: m, provider: custom, base_url: 'ftp://x/'}",
            "\"ftp://x/\" is not a usable address: ftp cannot be spoken",
            "https://host/v1",
        ),
        (
            Selection::default(),
            "model: {default: m, provider: custom, base_url: 'http://x/v1', api_mode: soap}",
            "unknown api_mode \"soap\"",
            "chat_completions",
        ),
    ] {
        let error = resolved(&selection, yaml, &[]).unwrap_err();
        assert_eq!(error.to_string(), sentence);
        assert!(error.hint().contains(hint), "{sentence}: {}", error.hint());
    }
}

#[test]
fn settings_of_one_provider_are_not_used_for_another() {
    let yaml =
        "model: {default: m, provider: custom, base_url: 'http://127.0.0.1:1/v1', api_key: secret}";
    let selection = Selection::of(Some("openrouter"), Some("m"));
    let endpoint = resolved(&selection, yaml, &[("OPENROUTER_API_KEY", "or")])
        .unwrap()
        .endpoint;
    assert_eq!(endpoint.base_url.as_str(), "https://openrouter.ai/api/v1");
    assert_eq!(key(&endpoint), Some("or"));
}

const NAMED: &str = "
model: {default: big, provider: gpu box}
providers:
  gpu box:
    api: http://10.0.0.5:8000/v1
    key_env: BOX_KEY
    transport: anthropic_messages
    context_length: 90000
    extra_body: {top_k: 5}
    models:
      big: {context_length: 120000, timeout_seconds: 7, stale_timeout_seconds: 3}
  openrouter:
    request_timeout_seconds: 42
custom_providers:
  - {name: Old One, base_url: 'http://10.0.0.6/v1', model: old-model, api_key: k}
";

#[test]
fn named_endpoints_are_found_by_name_in_both_forms() {
    let endpoint = endpoint(NAMED, &[("BOX_KEY", "bk")]);
    assert_eq!(endpoint.provider, "custom:gpu-box");
    assert_eq!(
        (endpoint.mode, key(&endpoint)),
        (ApiMode::AnthropicMessages, Some("bk"))
    );
    assert_eq!(
        (endpoint.window, endpoint.timeouts.total.as_secs()),
        (120_000, 7)
    );
    assert_eq!(endpoint.timeouts.stale.map(|s| s.as_secs()), Some(3));
    assert_eq!(endpoint.form.extra_body["top_k"], 5);
    let resolve = |name: &str| {
        resolved(&Selection::of(Some(name), None), NAMED, &[])
            .unwrap()
            .endpoint
    };
    for name in ["custom:old-one", "Old One", "old-one"] {
        let endpoint = resolve(name);
        assert_eq!(
            (endpoint.provider.as_str(), endpoint.model()),
            ("custom:old-one", "old-model"),
            "{name}"
        );
    }
    // A provider's settings without an address are settings, not an endpoint.
    let openrouter = resolved(
        &Selection::of(Some("openrouter"), Some("m")),
        NAMED,
        &[("OPENROUTER_API_KEY", "k")],
    );
    assert_eq!(openrouter.unwrap().endpoint.timeouts.total.as_secs(), 42);
}

#[test]
fn an_address_without_a_name_gets_the_extra_body_of_its_entry() {
    let yaml = "
model: {default: m, provider: custom, base_url: 'http://127.0.0.1:1/v1/'}
custom_providers:
  - {name: any, base_url: 'http://127.0.0.1:1/v1', extra_body: {who: any}}
  - {name: mine, base_url: 'http://127.0.0.1:1/v1', model: m, extra_body: {who: mine}}
";
    assert_eq!(endpoint(yaml, &[]).form.extra_body["who"], "mine");
}

#[test]
fn numbers_that_make_no_sense_are_ignored_with_a_warning() {
    for (yaml, key) in [
        (
            "model: {default: claude-opus-4, provider: anthropic, context_length: 256K}",
            "model.context_length",
        ),
        (
            "model: {default: claude-opus-4, provider: anthropic, max_tokens: true}",
            "model.max_tokens",
        ),
        (
            "model: {default: claude-opus-4, provider: anthropic, max_tokens: -5}",
            "model.max_tokens",
        ),
    ] {
        let resolved =
            resolved(&Selection::default(), yaml, &[("ANTHROPIC_API_KEY", "k")]).unwrap();
        assert_eq!(resolved.warnings.len(), 1, "{yaml}");
        assert!(
            resolved.warnings[0].contains(key),
            "{:?}",
            resolved.warnings
        );
        assert_eq!(
            (
                resolved.endpoint.window,
                resolved.endpoint.form.default_output
            ),
            (200_000, None)
        );
    }
    let set = endpoint(
        "model: {default: m, provider: anthropic, context_length: 90000, max_tokens: 500}",
        &[("ANTHROPIC_API_KEY", "k")],
    );
    assert_eq!((set.window, set.form.default_output), (90_000, Some(500)));
}

#[test]
fn aliases_of_models_carry_their_provider() {
    let yaml = "
model: {default: m, provider: custom, base_url: 'http://127.0.0.1:1/v1'}
model_aliases:
  smart: {model: claude-opus-4-6, provider: anthropic}
  quick: other-model
";
    let resolve = |model: &str| {
        resolved(
            &Selection::of(None, Some(model)),
            yaml,
            &[("ANTHROPIC_API_KEY", "k")],
        )
        .unwrap()
        .endpoint
    };
    assert_eq!(resolve("smart").provider, "anthropic");
    let quick = resolve("quick");
    assert_eq!(
        (quick.provider.as_str(), quick.model()),
        ("custom", "other-model")
    );
}

#[test]
fn forms_follow_provider_host_and_model() {
    let form = |provider: &str, model: &str, variable: &str| {
        resolved(
            &Selection::of(Some(provider), Some(model)),
            "",
            &[(variable, "k")],
        )
        .unwrap()
        .endpoint
        .form
    };
    let router = form("openrouter", "claude-opus-4.6", "OPENROUTER_API_KEY");
    assert_eq!(
        (router.reasoning, router.session),
        (ReasoningStyle::Router, SessionHint::Body)
    );
    assert_eq!(router.cache.map(|c| c.layout), Some(CacheLayout::Envelope));
    assert_eq!(router.extra_body["usage"]["include"], true);
    assert_eq!(router.default_output, Some(128_000));
    assert_eq!(
        form("openrouter", "llama-4", "OPENROUTER_API_KEY").cache,
        None
    );
    let claude = form("anthropic", "claude-opus-4-6", "ANTHROPIC_API_KEY");
    assert_eq!(
        claude.cache.map(|c| (c.layout, c.long)),
        Some((CacheLayout::Native, false))
    );
    assert!(claude.first_party);
    let kimi = form("kimi", "kimi-k2.5", "KIMI_API_KEY");
    assert_eq!(
        (kimi.echo, kimi.schema, kimi.no_temperature),
        (Echo::Always, SchemaDialect::Moonshot, true)
    );
    assert_eq!(
        form("openrouter", "deepseek/deepseek-v4", "OPENROUTER_API_KEY").echo,
        Echo::Always
    );
    let gpt = form("openai-api", "gpt-5", "OPENAI_API_KEY");
    assert_eq!(
        (gpt.reasoning, gpt.session),
        (ReasoningStyle::Effort, SessionHint::CacheKey)
    );
    assert_eq!(gpt.output_cap_field, OutputCapField::MaxCompletionTokens);
    assert_eq!(
        form("xai", "grok-4", "XAI_API_KEY").reasoning,
        ReasoningStyle::None
    );
    assert_eq!(
        form("xai", "grok-4.3", "XAI_API_KEY").issuer,
        "xai_responses"
    );
    assert!(form("gemini", "gemini-3-pro", "GEMINI_API_KEY").call_extra);
    let long = resolved(
        &Selection::of(Some("anthropic"), Some("claude-opus-4-6")),
        "prompt_caching: {cache_ttl: 1h}",
        &[("ANTHROPIC_API_KEY", "k")],
    );
    assert!(long.unwrap().endpoint.form.cache.unwrap().long);
}

#[test]
fn keys_are_presented_as_the_vendor_wants_them() {
    let style = |provider: &str, variable: &str, key: &str| {
        resolved(
            &Selection::of(Some(provider), Some("m")),
            "",
            &[(variable, key)],
        )
        .unwrap()
        .endpoint
        .auth
    };
    assert_eq!(
        style("anthropic", "ANTHROPIC_API_KEY", "sk-ant-api03-x"),
        AuthStyle::ApiKeyHeader
    );
    assert_eq!(
        style("anthropic", "ANTHROPIC_TOKEN", "sk-ant-oat01-x"),
        AuthStyle::Bearer
    );
    assert_eq!(style("minimax", "MINIMAX_API_KEY", "x"), AuthStyle::Bearer);
    assert_eq!(
        style("gemini", "GEMINI_API_KEY", "x"),
        AuthStyle::GoogleHeader
    );
    assert_eq!(
        style("deepseek", "DEEPSEEK_API_KEY", "x"),
        AuthStyle::Bearer
    );
}

#[test]
fn queries_of_an_address_travel_with_every_request() {
    let endpoint = endpoint(
        "model: {default: m, provider: azure, base_url: 'https://x.openai.azure.com/openai/v1?api-version=2025-04-15'}",
        &[("AZURE_FOUNDRY_API_KEY", "k")],
    );
    assert_eq!(
        endpoint.base_url.as_str(),
        "https://x.openai.azure.com/openai/v1"
    );
    assert_eq!(
        endpoint.query,
        [("api-version".to_owned(), "2025-04-15".to_owned())]
    );
}

#[test]
fn timeouts_come_from_variables_too() {
    let timeouts = endpoint(
        "model: {default: m, provider: deepseek}",
        &[
            ("DEEPSEEK_API_KEY", "k"),
            ("HERMES_API_TIMEOUT", "10"),
            ("HERMES_STREAM_READ_TIMEOUT", "2.5"),
            ("HERMES_STREAM_STALE_TIMEOUT", "nonsense"),
            ("HERMES_API_CALL_STALE_TIMEOUT", "9"),
        ],
    )
    .timeouts;
    assert_eq!(
        (timeouts.total.as_secs(), timeouts.read.as_millis()),
        (10, 2500)
    );
    assert_eq!(
        (timeouts.stale, timeouts.whole_stale.map(|t| t.as_secs())),
        (None, Some(9))
    );
    let timeouts = endpoint(
        "model: {default: m, provider: deepseek}",
        &[
            ("DEEPSEEK_API_KEY", "k"),
            ("HERMES_CODEX_TTFB_TIMEOUT_SECONDS", "60"),
            ("HERMES_CODEX_TTFB_MAX_SECONDS", "40"),
            ("HERMES_CODEX_TTFB_DISABLE_ABOVE_TOKENS", "1000"),
            ("HERMES_CODEX_EVENT_STALE_TIMEOUT_SECONDS", "7"),
        ],
    )
    .timeouts;
    assert_eq!(
        (
            timeouts.first_event.map(|t| t.as_secs()),
            timeouts.first_event_up_to,
            timeouts.responses_stale.map(|t| t.as_secs()),
        ),
        (Some(40), 1000, Some(7))
    );
    let strict = endpoint(
        "model: {default: m, provider: deepseek}",
        &[
            ("DEEPSEEK_API_KEY", "k"),
            ("HERMES_CODEX_TTFB_DISABLE_ABOVE_TOKENS", "1000"),
            ("HERMES_CODEX_TTFB_STRICT", "1"),
        ],
    );
    assert_eq!(strict.timeouts.first_event_up_to, u64::MAX);
}

#[test]
fn fallback_routes_are_read_from_both_keys_once_each() {
    let yaml = "
fallback_providers:
  - {provider: openrouter, model: a}
  - {provider: custom, model: b, base_url: 'http://127.0.0.1:1/v1', key_env: B_KEY}
  - {model: no provider}
fallback_model:
  - {provider: openrouter, model: a}
  - {provider: anthropic, model: c}
";
    let config = Config::from_yaml(yaml).unwrap();
    let routes = fallback_routes(&Sources {
        config: config.effective(),
        environment: &environment(&[("B_KEY", "bk")]),
        auth: &AuthData::default(),
    });
    let shown: Vec<(&str, &str)> = routes
        .iter()
        .map(|r| (r.provider.as_str(), r.model.as_str()))
        .collect();
    assert_eq!(
        shown,
        [("openrouter", "a"), ("custom", "b"), ("anthropic", "c")]
    );
}

#[test]
fn a_model_that_cannot_see_is_sent_no_pictures() {
    for (yaml, leaves_out) in [
        (
            "model: {default: m, provider: custom, base_url: 'http://127.0.0.1:1/v1', supports_vision: false}",
            true,
        ),
        (
            "model: {default: m, provider: custom, base_url: 'http://127.0.0.1:1/v1', supports_vision: true}",
            false,
        ),
        (
            "model: {default: m, provider: custom, base_url: 'http://127.0.0.1:1/v1'}",
            false,
        ),
        (
            "model: {default: m, provider: box}\nproviders: {box: {api: 'http://127.0.0.1:1/v1', models: {m: {supports_vision: false}}}}",
            true,
        ),
        (
            "model: {default: m, provider: box}\nproviders: {box: {api: 'http://127.0.0.1:1/v1', models: {other: {supports_vision: false}}}}",
            false,
        ),
    ] {
        assert_eq!(
            endpoint(yaml, &[]).form.mend.no_images,
            leaves_out,
            "{yaml}"
        );
    }
}
