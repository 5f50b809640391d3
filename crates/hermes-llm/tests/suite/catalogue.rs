//! The catalogue, row by row: who is asked where, with which key, and what arrives
//! there. The table below is written down a second time on purpose: a slip in the
//! data file must not pass because the test reads the same slip.

use std::sync::Arc;

use hermes_config::Config;
use hermes_home::{Clock, Environment};
use hermes_http::Http;
use hermes_llm::auth::AuthData;
use hermes_llm::catalogue::{AuthKind, provider, providers};
use hermes_llm::resolve::{Resolved, Selection, Sources, resolve};
use hermes_llm::wire::{ApiMode, encode};
use hermes_llm::{Effort, Models, Request, RequestLimits, RetryPolicy};
use hermes_testkit::TestHome;
use hermes_testkit::model::{ModelServer, Recorded, Reply};
use hermes_types::{Message, ToolSpec};
use pretty_assertions::assert_eq;
use serde_json::{Map, Value, json};

use super::support::ask;

/// id (aliases) | format | address | key variables | address variable | kind
const TABLE: &str = "
openrouter (or) | chat_completions | https://openrouter.ai/api/v1 | OPENROUTER_API_KEY | OPENROUTER_BASE_URL | Key
nous (nous-portal nousresearch) | chat_completions | https://inference-api.nousresearch.com/v1 | NOUS_API_KEY | - | OauthOrKey
custom (ollama local vllm llamacpp llama.cpp llama-cpp) | chat_completions | - | OPENAI_API_KEY | CUSTOM_BASE_URL | KeyOptional
openai-api (openai) | codex_responses | https://api.openai.com/v1 | OPENAI_API_KEY | OPENAI_BASE_URL | Key
openai-codex (codex openai_codex) | codex_responses | https://chatgpt.com/backend-api/codex | - | - | Oauth
anthropic (claude claude-oauth claude-code) | anthropic_messages | https://api.anthropic.com | ANTHROPIC_API_KEY ANTHROPIC_TOKEN CLAUDE_CODE_OAUTH_TOKEN | ANTHROPIC_BASE_URL | Key
gemini (google google-gemini google-ai-studio) | gemini | https://generativelanguage.googleapis.com/v1beta | GOOGLE_API_KEY GEMINI_API_KEY | GEMINI_BASE_URL | Key
google-gemini-cli (gemini-cli gemini-oauth) | gemini | - | - | - | Oauth
xai (grok x-ai x.ai) | codex_responses | https://api.x.ai/v1 | XAI_API_KEY | XAI_BASE_URL | Key
xai-oauth | codex_responses | https://api.x.ai/v1 | - | - | Oauth
bedrock (aws aws-bedrock amazon-bedrock amazon) | chat_completions | - | - | BEDROCK_BASE_URL | Aws
azure-foundry (azure azure-ai-foundry azure-ai) | chat_completions | - | AZURE_FOUNDRY_API_KEY | AZURE_FOUNDRY_BASE_URL | Key
copilot (github-copilot github-models github-model github) | chat_completions | https://api.githubcopilot.com | COPILOT_GITHUB_TOKEN GH_TOKEN GITHUB_TOKEN | COPILOT_API_BASE_URL | TokenExchange
copilot-acp | chat_completions | - | - | COPILOT_ACP_BASE_URL | Process
deepseek (deepseek-chat) | chat_completions | https://api.deepseek.com/v1 | DEEPSEEK_API_KEY | DEEPSEEK_BASE_URL | Key
zai (glm z-ai z.ai zhipu) | chat_completions | https://api.z.ai/api/paas/v4 | GLM_API_KEY ZAI_API_KEY Z_AI_API_KEY | GLM_BASE_URL | Key
kimi-coding (kimi moonshot kimi-for-coding) | chat_completions | https://api.moonshot.ai/v1 | KIMI_API_KEY KIMI_CODING_API_KEY | KIMI_BASE_URL | Key
kimi-coding-cn (kimi-cn moonshot-cn) | chat_completions | https://api.moonshot.cn/v1 | KIMI_CN_API_KEY | - | Key
minimax (mini-max) | anthropic_messages | https://api.minimax.io/anthropic | MINIMAX_API_KEY | MINIMAX_BASE_URL | Key
minimax-cn | anthropic_messages | https://api.minimaxi.com/anthropic | MINIMAX_CN_API_KEY | MINIMAX_CN_BASE_URL | Key
minimax-oauth | anthropic_messages | https://api.minimax.io/anthropic | - | - | Oauth
alibaba (dashscope alibaba-cloud qwen-dashscope) | chat_completions | https://dashscope-intl.aliyuncs.com/compatible-mode/v1 | DASHSCOPE_API_KEY | DASHSCOPE_BASE_URL | Key
alibaba-coding-plan | chat_completions | https://coding-intl.dashscope.aliyuncs.com/v1 | ALIBABA_CODING_PLAN_API_KEY DASHSCOPE_API_KEY | ALIBABA_CODING_PLAN_BASE_URL | Key
qwen-oauth (qwen qwen-portal qwen-cli) | chat_completions | https://portal.qwen.ai/v1 | QWEN_API_KEY | - | OauthOrKey
nvidia (nvidia-nim) | chat_completions | https://integrate.api.nvidia.com/v1 | NVIDIA_API_KEY | NVIDIA_BASE_URL | Key
opencode-zen (opencode zen) | chat_completions | https://opencode.ai/zen/v1 | OPENCODE_ZEN_API_KEY | OPENCODE_ZEN_BASE_URL | Key
opencode-go (go opencode-go-sub) | chat_completions | https://opencode.ai/zen/go/v1 | OPENCODE_GO_API_KEY | OPENCODE_GO_BASE_URL | Key
kilocode | chat_completions | https://api.kilo.ai/api/gateway | KILOCODE_API_KEY | KILOCODE_BASE_URL | Key
huggingface (hf) | chat_completions | https://router.huggingface.co/v1 | HF_TOKEN | HF_BASE_URL | Key
xiaomi (mimo) | chat_completions | https://api.xiaomimimo.com/v1 | XIAOMI_API_KEY | XIAOMI_BASE_URL | Key
arcee | chat_completions | https://api.arcee.ai/api/v1 | ARCEEAI_API_KEY | ARCEE_BASE_URL | Key
gmi | chat_completions | https://api.gmi-serving.com/v1 | GMI_API_KEY | GMI_BASE_URL | Key
novita | chat_completions | https://api.novita.ai/openai/v1 | NOVITA_API_KEY | NOVITA_BASE_URL | Key
stepfun | chat_completions | https://api.stepfun.ai/step_plan/v1 | STEPFUN_API_KEY | STEPFUN_BASE_URL | Key
ollama-cloud | chat_completions | https://ollama.com/v1 | OLLAMA_API_KEY | OLLAMA_BASE_URL | Key
lmstudio | chat_completions | http://127.0.0.1:1234/v1 | LM_API_KEY | LM_BASE_URL | KeyOptional
tencent-tokenhub | chat_completions | https://tokenhub.tencentmaas.com/v1 | TOKENHUB_API_KEY | TOKENHUB_BASE_URL | Key
";

#[test]
fn every_row_is_what_the_vendors_document() {
    let mut seen = Vec::new();
    for line in TABLE.trim().lines() {
        let fields: Vec<&str> = line.split(" | ").collect();
        let (id, aliases) = fields[0].split_once(" (").unwrap_or((fields[0], ")"));
        let row = provider(id).unwrap_or_else(|| panic!("{id} is missing"));
        let written = |text: &str| if text.is_empty() { "-" } else { text }.to_owned();
        assert_eq!(
            [
                row.id.clone(),
                row.aliases.join(" "),
                row.mode.as_str().to_owned(),
                written(&row.base_url),
                written(&row.keys.join(" ")),
                written(row.url_env.as_deref().unwrap_or("")),
                format!("{:?}", row.auth),
            ],
            [
                id.to_owned(),
                aliases.trim_end_matches(')').to_owned(),
                fields[1].to_owned(),
                fields[2].to_owned(),
                fields[3].to_owned(),
                fields[4].to_owned(),
                fields[5].to_owned(),
            ]
        );
        for alias in &row.aliases {
            assert_eq!(provider(&alias.to_uppercase()).unwrap().id, id);
        }
        seen.push(id);
    }
    let all: Vec<&str> = providers().iter().map(|row| row.id.as_str()).collect();
    assert_eq!(seen, all);
}

fn question() -> Request {
    Request {
        tools: Arc::from([ToolSpec {
            name: "look".to_owned(),
            description: "Looks.".to_owned(),
            parameters: json!({"type": "object", "properties": {
                "at": {"type": "string", "pattern": "^a", "enum": ["a/b", "ab"]}}}),
        }]),
        session: Some(Arc::from("s-1")),
        retries: None,
        limits: RequestLimits {
            temperature: Some(0.5),
            ..RequestLimits::default()
        },
        ..Request::new("Be brief.", vec![Arc::new(Message::user("hello"))])
    }
}

/// Asks a provider whose address is the scripted server; what arrives there.
async fn arrives(id: &str, model: &str, yaml: &str, variables: &[(&str, &str)]) -> Recorded {
    let (home, server) = (TestHome::new(), ModelServer::start());
    let row = provider(id).expect(id);
    let mut environment = home.environment();
    environment.set(&row.keys[0], "the-key");
    for (name, value) in variables {
        environment.set(*name, *value);
    }
    let selection = Selection {
        base_url: Some(server.url()),
        ..Selection::of(Some(id), Some(model))
    };
    home.config(yaml);
    let config = Config::load(&home.home(), &environment, &[]).unwrap();
    let models = Models::new(config, home.home(), Http::default(), Clock::System)
        .with_policy(RetryPolicy::immediate());
    server.models(vec![json!({"id": model, "context_length": 200_000})]);
    server.push(Reply::text("ok"));
    let opened = models
        .open(&selection)
        .await
        .unwrap_or_else(|error| panic!("{id}: {error}"));
    assert_eq!(
        ask(&*opened.model, &question()).await.unwrap().text,
        "ok",
        "{id}"
    );
    server.requests().remove(0)
}

/// The body without what every request of the chat format has.
fn beside(request: &Recorded) -> Value {
    let mut body = request.body.as_object().cloned().unwrap_or_default();
    for usual in ["model", "messages", "tools", "stream", "stream_options"] {
        body.remove(usual);
    }
    Value::Object(body)
}

#[tokio::test]
async fn plain_providers_get_a_plain_request() {
    for (id, model, sent) in [
        ("zai", "z-ai/glm-5", "glm-5"),
        ("huggingface", "org/model", "org/model"),
        ("arcee", "arcee-ai/trinity", "trinity"),
        ("gmi", "org/model", "org/model"),
        ("novita", "org/model", "org/model"),
        ("stepfun", "stepfun/step-3", "step-3"),
        ("ollama-cloud", "gpt-oss:120b", "gpt-oss:120b"),
        ("lmstudio", "org/model", "org/model"),
        ("alibaba-coding-plan", "qwen/qwen3-coder", "qwen3-coder"),
        ("azure-foundry", "gpt-4.1", "gpt-4.1"),
        ("kilocode", "claude-opus-4.6", "anthropic/claude-opus-4.6"),
        ("opencode-go", "any/glm-5", "glm-5"),
        ("custom", "org/model", "org/model"),
    ] {
        let request = arrives(id, model, "", &[]).await;
        assert_eq!(request.path, "/v1/chat/completions", "{id}");
        assert_eq!(
            request.header("authorization"),
            Some("Bearer the-key"),
            "{id}"
        );
        assert_eq!(request.model(), sent, "{id}");
        assert_eq!(request.messages()[0]["content"], "Be brief.", "{id}");
        assert_eq!(beside(&request), json!({"temperature": 0.5}), "{id}");
    }
}

#[tokio::test]
async fn openrouter_is_told_who_asks_and_what_is_wanted() {
    let claude = arrives(
        "openrouter",
        "claude-opus-4.6",
        "provider_routing: {sort: price, only: [a]}\n",
        &[],
    )
    .await;
    for (name, value) in [
        ("http-referer", "https://hermes-agent.nousresearch.com"),
        ("x-title", "Hermes Agent"),
        ("x-openrouter-categories", "productivity,cli-agent"),
        ("x-openrouter-cache", "true"),
        ("x-openrouter-cache-ttl", "300"),
        ("x-anthropic-beta", "fine-grained-tool-streaming-2025-05-14"),
    ] {
        assert_eq!(claude.header(name), Some(value), "{name}");
    }
    assert_eq!(
        beside(&claude),
        json!({
            "max_tokens": 128_000, "temperature": 0.5,
            "reasoning": {"enabled": true, "effort": "medium"}, "session_id": "s-1",
            "usage": {"include": true},
            "provider": {"sort": "price", "only": ["a"]},
        })
    );
    let marker = json!({"type": "ephemeral"});
    assert_eq!(claude.messages()[0]["content"][0]["cache_control"], marker);
    assert_eq!(claude.messages()[1]["content"][0]["cache_control"], marker);
    let grok = arrives(
        "openrouter",
        "x-ai/grok-4",
        "openrouter: {response_cache_ttl: 60}\n",
        &[],
    )
    .await;
    assert_eq!(grok.header("x-grok-conv-id"), Some("s-1"));
    assert_eq!(grok.header("x-openrouter-cache-ttl"), Some("60"));
    assert_eq!(grok.header("x-anthropic-beta"), None);
    let pareto = arrives(
        "openrouter",
        "openrouter/pareto-code",
        "openrouter: {min_coding_score: 0.8}\n",
        &[("HERMES_OPENROUTER_CACHE", "0")],
    )
    .await;
    assert_eq!(pareto.header("x-openrouter-cache"), None);
    assert_eq!(
        pareto.body["plugins"],
        json!([{"id": "pareto-router", "min_coding_score": 0.8}])
    );
}

#[tokio::test]
async fn nous_knows_product_and_version() {
    let request = arrives("nous", "qwen3-coder", "", &[]).await;
    assert_eq!(request.model(), "qwen/qwen3-coder");
    assert_eq!(
        beside(&request),
        json!({
            "temperature": 0.5, "reasoning": {"enabled": true, "effort": "medium"},
            "tags": ["product=hermes-agent", format!("client=hermes-{}", env!("CARGO_PKG_VERSION"))],
        })
    );
    assert!(request.messages()[0]["content"][0]["cache_control"].is_object());
    let claude = arrives("nous", "claude-opus-4.6", "", &[]).await;
    assert_eq!(claude.body["max_tokens"], 128_000);
}

#[tokio::test]
async fn vendors_that_think_are_told_how_hard() {
    let kimi = arrives("kimi-coding", "kimi-k2.5", "", &[]).await;
    // No temperature, and a cap of its own.
    assert_eq!(
        beside(&kimi),
        json!({"max_tokens": 32_000, "thinking": {"type": "enabled"}, "reasoning_effort": "medium"})
    );
    for (model, thinks) in [
        ("deepseek-v4", true),
        ("deepseek-v10-pro", true),
        ("deepseek-reasoner", true),
        ("deepseek-chat", false),
        ("deepseek-v3.2", false),
    ] {
        let request = arrives("deepseek", model, "", &[]).await;
        let thinking = request.body.get("thinking").cloned();
        assert_eq!(
            thinking,
            thinks.then(|| json!({"type": "enabled"})),
            "{model}"
        );
    }
    let tokenhub = arrives("tencent-tokenhub", "hy3", "", &[]).await;
    assert_eq!(tokenhub.body["reasoning_effort"], "high");
}

#[tokio::test]
async fn nvidia_learns_where_a_call_comes_from_and_caps_it() {
    let request = arrives("nvidia", "nvidia/nemotron", "", &[]).await;
    assert_eq!(
        request.header("x-billing-invoke-origin"),
        Some("HermesAgent")
    );
    assert_eq!(request.model(), "nvidia/nemotron");
    assert_eq!(
        beside(&request),
        json!({"max_tokens": 16_384, "temperature": 0.5})
    );
    let asked = arrives("nvidia", "nemotron", "model: {max_tokens: 500}\n", &[]).await;
    assert_eq!(asked.body["max_tokens"], 500);
}

#[tokio::test]
async fn qwen_gets_parts_a_marker_on_the_system_text_and_metadata() {
    let request = arrives("qwen-oauth", "qwen3-coder-plus", "", &[]).await;
    assert_eq!(request.header("x-dashscope-cachecontrol"), Some("enable"));
    assert_eq!(
        Value::from(request.messages().to_vec()),
        json!([
            {"role": "system", "content": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]},
            {"role": "user", "content": [{"type": "text", "text": "hello"}]},
        ])
    );
    assert_eq!(
        beside(&request),
        json!({
            "max_tokens": 65_536, "temperature": 0.5, "vl_high_resolution_images": true,
            "metadata": {"sessionId": "s-1", "promptId": "s-1-1"},
        })
    );
    let alibaba = arrives("alibaba", "qwen3-coder", "", &[]).await;
    assert!(alibaba.messages()[1]["content"][0]["cache_control"].is_object());
    assert_eq!(beside(&alibaba), json!({"temperature": 0.5}));
}

#[tokio::test]
async fn xiaomi_names_are_lower_case_and_its_reasoning_goes_back() {
    let request = arrives("xiaomi", "xiaomi/MiMo-V2", "", &[]).await;
    // The prefix is taken off before or after: the name is all that is sent.
    assert_eq!(request.model(), "mimo-v2");
}

#[tokio::test]
async fn formats_follow_the_model_and_keys_follow_the_format() {
    for (id, model, path, header, value) in [
        (
            "opencode-zen",
            "claude-opus-4-6",
            "/v1/messages",
            "x-api-key",
            "the-key",
        ),
        (
            "opencode-zen",
            "gpt-5",
            "/v1/responses",
            "authorization",
            "Bearer the-key",
        ),
        (
            "opencode-zen",
            "glm-5",
            "/v1/chat/completions",
            "authorization",
            "Bearer the-key",
        ),
        (
            "opencode-go",
            "minimax-m2",
            "/v1/messages",
            "x-api-key",
            "the-key",
        ),
        (
            "opencode-go",
            "qwen3.7-max",
            "/v1/messages",
            "x-api-key",
            "the-key",
        ),
        (
            "azure-foundry",
            "gpt-5.1",
            "/v1/responses",
            "authorization",
            "Bearer the-key",
        ),
        (
            "anthropic",
            "claude-opus-4-6",
            "/v1/messages",
            "x-api-key",
            "the-key",
        ),
        (
            "minimax",
            "MiniMax-M2",
            "/v1/messages",
            "authorization",
            "Bearer the-key",
        ),
        (
            "openai-api",
            "gpt-5",
            "/v1/responses",
            "authorization",
            "Bearer the-key",
        ),
        (
            "gemini",
            "gemini-3-flash",
            "/v1/models/gemini-3-flash:streamGenerateContent",
            "x-goog-api-key",
            "the-key",
        ),
    ] {
        let request = arrives(id, model, "", &[]).await;
        assert_eq!(request.path.split('?').next(), Some(path), "{id} {model}");
        assert_eq!(request.header(header), Some(value), "{id} {model}");
    }
}

#[tokio::test]
async fn betas_of_the_anthropic_format_depend_on_who_serves_it() {
    let both = "interleaved-thinking-2025-05-14,fine-grained-tool-streaming-2025-05-14";
    let claude = arrives("anthropic", "claude-opus-4-6", "", &[]).await;
    assert_eq!(claude.header("anthropic-beta"), Some(both));
    assert_eq!(claude.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(claude.body.get("speed"), None);
    let minimax = arrives("minimax", "MiniMax-M2", "", &[]).await;
    assert_eq!(
        minimax.header("anthropic-beta"),
        Some("interleaved-thinking-2025-05-14")
    );
    assert_eq!(minimax.body["max_tokens"], 131_072);
    assert!(minimax.body["system"][0]["cache_control"].is_object());
    let fast = "agent: {service_tier: fast}\n";
    let quick = arrives("anthropic", "claude-opus-4-6", fast, &[]).await;
    assert_eq!(
        quick.header("anthropic-beta"),
        Some(&*format!("{both},fast-mode-2026-02-01"))
    );
    assert_eq!(quick.body["speed"], "fast");
    let other = arrives("anthropic", "claude-opus-4-7", fast, &[]).await;
    assert_eq!(
        (other.header("anthropic-beta"), other.body.get("speed")),
        (Some(both), None)
    );
}

#[tokio::test]
async fn a_cap_that_must_be_sent_fits_the_window() {
    let request = arrives(
        "anthropic",
        "claude-opus-4-6",
        "model: {context_length: 100000}\n",
        &[],
    )
    .await;
    assert_eq!(request.body["max_tokens"], 99_999);
}

#[tokio::test]
async fn a_server_of_ones_own_is_told_not_to_think_and_how_much_to_load() {
    let (home, server) = (TestHome::new(), ModelServer::start());
    home.config_for(&server, "  ollama_num_ctx: 80000\n");
    let config = Config::load(&home.home(), &home.environment(), &[]).unwrap();
    let models = Models::new(config, home.home(), Http::default(), Clock::System);
    server.push(Reply::text("ok"));
    let opened = models.open(&Selection::default()).await.unwrap();
    let mut request = question();
    request.limits.effort = Some(Effort::None);
    ask(&*opened.model, &request).await.unwrap();
    assert_eq!(
        beside(&server.requests()[0]),
        json!({"temperature": 0.5, "think": false, "options": {"num_ctx": 80_000}})
    );
}

/// Resolves at the vendor's own address; nothing is sent.
fn at_home(id: &str, model: &str, yaml: &str) -> Resolved {
    let config = Config::from_yaml(yaml).unwrap();
    let mut environment = Environment::default();
    environment.set(&provider(id).unwrap().keys[0], "the-key");
    resolve(
        &Selection::of(Some(id), Some(model)),
        &Sources {
            config: config.effective(),
            environment: &environment,
            auth: &AuthData::default(),
        },
    )
    .unwrap()
}

#[test]
fn what_only_a_host_wants_is_sent_to_that_host() {
    let body =
        |resolved: &Resolved| encode(resolved.endpoint.mode, &question(), &resolved.endpoint.form);
    // xAI: an effort without a summary for the models that take one, no patterns
    // and no enum values with a slash, a cache key and a header.
    let grok = at_home("xai", "x-ai/grok-4.3", "");
    assert_eq!(grok.endpoint.session_header, Some("x-grok-conv-id"));
    let sent = body(&grok);
    assert_eq!(sent["reasoning"], json!({"effort": "medium"}));
    assert_eq!(sent["prompt_cache_key"], "s-1");
    let at = &sent["tools"][0]["parameters"]["properties"]["at"];
    assert_eq!((at.get("pattern"), at.get("enum")), (None, None));
    assert_eq!(body(&at_home("xai", "grok-4", "")).get("reasoning"), None);
    // OpenAI: a summary, a cache key, priority where it is paid for.
    let gpt = body(&at_home(
        "openai-api",
        "gpt-5",
        "agent: {service_tier: fast}",
    ));
    assert_eq!(
        gpt["reasoning"],
        json!({"effort": "medium", "summary": "auto"})
    );
    assert_eq!(gpt["prompt_cache_key"], "s-1");
    assert_eq!(gpt["service_tier"], "priority");
    // Azure: a bearer token, its version, the long window for Claude.
    let azure = at_home(
        "azure",
        "claude-opus-4-6",
        "model: {provider: azure, default: m, base_url: 'https://x.services.ai.azure.com/anthropic'}",
    );
    let endpoint = &azure.endpoint;
    assert_eq!(endpoint.mode, ApiMode::AnthropicMessages);
    assert_eq!(endpoint.auth, hermes_llm::AuthStyle::Bearer);
    assert_eq!(
        endpoint.query,
        [("api-version".to_owned(), "2025-04-15".to_owned())]
    );
    let headers: Map<String, Value> = endpoint
        .headers
        .iter()
        .map(|(name, value)| (name.clone(), json!(value)))
        .collect();
    assert!(
        headers["anthropic-beta"]
            .as_str()
            .unwrap()
            .ends_with(",context-1m-2025-08-07"),
        "{headers:?}"
    );
    // The coding host of Kimi speaks the Anthropic format and gets no thinking.
    let kimi = at_home(
        "kimi",
        "kimi-k2.5",
        "model: {provider: kimi, default: m, base_url: 'https://api.kimi.com/coding'}",
    );
    assert_eq!(kimi.endpoint.mode, ApiMode::AnthropicMessages);
    assert_eq!(body(&kimi).get("thinking"), None);
}

#[test]
fn whoever_cannot_be_asked_says_why_and_who_can() {
    let mut seen = 0;
    for row in providers().iter().filter(|row| !row.auth.takes_key()) {
        let config = Config::from_yaml("").unwrap();
        let error = resolve(
            &Selection::of(Some(&row.id), Some("m")),
            &Sources {
                config: config.effective(),
                environment: &Environment::default(),
                auth: &AuthData::default(),
            },
        )
        .unwrap_err();
        assert!(error.to_string().contains("not built yet"), "{error}");
        // The way out works: it takes a key.
        let instead = row
            .instead
            .as_deref()
            .unwrap_or_else(|| panic!("{}", row.id));
        assert_eq!(provider(instead).unwrap().auth, AuthKind::Key, "{}", row.id);
        assert!(
            error
                .hint()
                .contains(&format!("`hermes auth add {instead}`")),
            "{}",
            error.hint()
        );
        seen += 1;
    }
    assert_eq!(seen, 7);
}
