//! Which model answers: the main one, user-defined endpoints, fallbacks, and the
//! models of side tasks.

use super::key::{Default, Key, Type, flag, float, int, list, map, text, unset, with};

#[rustfmt::skip]
pub(super) const KEYS: &[Key] = &[
    with("model", Type::Any, Default::String(""), "model id, or a map with the keys of the section `model`").live(),
    unset("model.default", Type::String, "model id that answers by default").live(),
    unset("model.model", Type::String, "older name of `model.default`").live(),
    unset("model.provider", Type::String, "provider id; empty means that one is found by its key").live(),
    unset("model.base_url", Type::String, "address of the endpoint, for custom providers").live(),
    unset("model.api_key", Type::String, "key for that endpoint; better kept in `.env`").secret().live(),
    unset("model.api_mode", Type::String, "wire format to speak, when it cannot be told from the address").live(),
    unset("model.context_length", Type::Integer, "size of the context window in tokens, when it is not known").live(),
    unset("model.max_tokens", Type::Integer, "longest answer in tokens").live(),
    unset("model.ollama_num_ctx", Type::Integer, "context size asked of an Ollama server").live(),
    unset("model.supports_vision", Type::Bool, "false sends words in place of pictures; unset finds out").live(),
    map("providers", "own endpoints by id: api, name, api_key, key_env, default_model, models, transport, context_length, extra_body").live(),
    unset("custom_providers", Type::Any, "older list form of `providers`").live(),
    list("fallback_providers", &[], "routes tried in order when the model fails: maps with provider, model, base_url, key_env").live(),
    unset("fallback_model", Type::Any, "older form of `fallback_providers`: one route or a list").live(),
    map("credential_pool_strategies", "how a provider's keys are rotated: fill_first, round_robin, random or least_used").live(),
    unset("model_aliases", Type::Map, "short names for `/model` and `-m`: maps with model, provider, base_url").live(),
    unset("provider_routing", Type::Map, "OpenRouter routing: sort, only, ignore, order, require_parameters, data_collection").live(),
    text("prompt_caching.cache_ttl", "5m", "how long a provider keeps a cached prompt").choices(&["5m", "1h"]).live(),
    flag("openrouter.response_cache", true, "let OpenRouter answer repeated requests from its cache").env("HERMES_OPENROUTER_CACHE").live(),
    int("openrouter.response_cache_ttl", 300, "seconds that such an answer stays valid").env("HERMES_OPENROUTER_CACHE_TTL").live(),
    float("openrouter.min_coding_score", 0.65, "lowest coding score of models that automatic routing may pick").live(),
    text("bedrock.region", "", "AWS region; empty means that of the AWS configuration"),
    flag("bedrock.discovery.enabled", true, "ask AWS which models the account may use"),
    list("bedrock.discovery.provider_filter", &[], "only models of these vendors"),
    int("bedrock.discovery.refresh_interval", 3600, "seconds between two such questions"),
    text("bedrock.guardrail.guardrail_identifier", "", "guardrail applied to every call"),
    text("bedrock.guardrail.guardrail_version", "", "version of that guardrail"),
    text("bedrock.guardrail.stream_processing_mode", "async", "whether a guardrail holds back the stream").choices(&["async", "sync"]),
    text("bedrock.guardrail.trace", "disabled", "guardrail trace in answers").choices(&["disabled", "enabled", "enabled_full"]),
    flag("model_catalog.enabled", true, "fetch a list of models when a provider does not give its own").live(),
    text("model_catalog.url", "https://hermes-agent.nousresearch.com/docs/api/model-catalog.json", "where that list comes from").live(),
    int("model_catalog.ttl_hours", 1, "hours that a fetched list stays valid").live(),
    map("model_catalog.providers", "list addresses per provider: `url`").live(),
    list("local_servers", &["http://127.0.0.1:11434", "http://127.0.0.1:1234", "http://127.0.0.1:8080", "http://127.0.0.1:8000"], "where `hermes setup` and a first start look for a model server of your own; empty: nowhere").live(),
    unset("auxiliary", Type::Map, "models of side tasks, by task").live(),
];

/// The same six settings for each side task; a task may bring more. The flag says
/// whether anything asks for the task yet.
macro_rules! auxiliary {
    ($($task:literal, $live:literal, $timeout:literal, $about:literal, [$($extra:expr),*];)*) => {
        #[rustfmt::skip]
        pub(super) const AUXILIARY: &[Key] = &[$(
            text(concat!("auxiliary.", $task, ".provider"), "auto", concat!("provider for ", $about, "; auto means that of the main model")).live_if($live),
            text(concat!("auxiliary.", $task, ".model"), "", concat!("model for ", $about)).live_if($live),
            text(concat!("auxiliary.", $task, ".base_url"), "", concat!("own endpoint for ", $about)).live_if($live),
            text(concat!("auxiliary.", $task, ".api_key"), "", concat!("key of the endpoint for ", $about)).secret().live_if($live),
            int(concat!("auxiliary.", $task, ".timeout"), $timeout, concat!("seconds to wait for ", $about)).live_if($live),
            map(concat!("auxiliary.", $task, ".extra_body"), concat!("fields added to requests for ", $about)).live_if($live),
            $($extra,)*
        )*];
    };
}

/// Three tasks are also set by variables, which children inherit.
macro_rules! auxiliary_bridged {
    ($task:literal, $name:literal, $timeout:literal, $about:literal $(, $mark:ident)?) => {
        &[
            text(
                concat!("auxiliary.", $task, ".provider"),
                "auto",
                concat!(
                    "provider for ",
                    $about,
                    "; auto means that of the main model"
                ),
            )
            .bridged_if_set(concat!("AUXILIARY_", $name, "_PROVIDER"))
            $(.$mark())?,
            text(
                concat!("auxiliary.", $task, ".model"),
                "",
                concat!("model for ", $about),
            )
            .bridged_if_set(concat!("AUXILIARY_", $name, "_MODEL"))
            $(.$mark())?,
            text(
                concat!("auxiliary.", $task, ".base_url"),
                "",
                concat!("own endpoint for ", $about),
            )
            .bridged_if_set(concat!("AUXILIARY_", $name, "_BASE_URL"))
            $(.$mark())?,
            text(
                concat!("auxiliary.", $task, ".api_key"),
                "",
                concat!("key of the endpoint for ", $about),
            )
            .secret()
            .bridged_if_set(concat!("AUXILIARY_", $name, "_API_KEY"))
            $(.$mark())?,
            int(
                concat!("auxiliary.", $task, ".timeout"),
                $timeout,
                concat!("seconds to wait for ", $about),
            )
            $(.$mark())?,
            map(
                concat!("auxiliary.", $task, ".extra_body"),
                concat!("fields added to requests for ", $about),
            )
            $(.$mark())?,
        ]
    };
}

pub(super) const VISION: &[Key] =
    auxiliary_bridged!("vision", "VISION", 120, "describing pictures", live);
pub(super) const WEB_EXTRACT: &[Key] =
    auxiliary_bridged!("web_extract", "WEB_EXTRACT", 360, "condensing web pages");
pub(super) const APPROVAL: &[Key] = auxiliary_bridged!(
    "approval",
    "APPROVAL",
    30,
    "judging commands in smart approvals",
    live
);

auxiliary! {
    "compression", true, 120, "summarising a long conversation", [
        unset("auxiliary.compression.context_length", Type::Integer, "context window of the summarising model").live()
    ];
    "skills_hub", false, 30, "looking up skills", [];
    "mcp", false, 30, "requests of MCP servers", [];
    "title_generation", true, 30, "naming a session", [];
    "triage_specifier", true, 120, "specifying a triage task", [];
    "kanban_decomposer", true, 180, "splitting a task", [];
    "profile_describer", false, 60, "describing a profile", [];
    "curator", false, 600, "reviewing skills", [];
}

#[rustfmt::skip]
pub(super) const TASK_EXTRAS: &[Key] = &[
    int("auxiliary.vision.download_timeout", 30, "seconds to wait for a picture's download"),
    unset("auxiliary.goal_judge.max_tokens", Type::Integer, "longest answer when judging whether a goal is reached"),
];
