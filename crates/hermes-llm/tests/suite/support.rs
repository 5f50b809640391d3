//! Models that talk to the scripted server.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use hermes_http::{Http, Url};
use hermes_llm::wire::{ApiMode, Form};
use hermes_llm::{
    Answer, AuthStyle, Delta, DeltaStream, Endpoint, Keys, Model, ModelError, ProviderModel,
    Request, RequestLimits, RetryPolicy, Secret, Setup, Timeouts,
};
use hermes_testkit::model::ModelServer;
use hermes_types::{Content, Message, Part, ToolCall, ToolSpec};
use serde_json::json;

pub(crate) fn endpoint(server: &ModelServer, mode: ApiMode) -> Endpoint {
    Endpoint {
        provider: "custom".to_owned(),
        mode,
        base_url: Url::parse(&server.url()).unwrap(),
        query: Vec::new(),
        auth: AuthStyle::Bearer,
        key: Some(Secret::new("test-key")),
        headers: Vec::new(),
        session_header: None,
        form: Form {
            issuer: "me".to_owned(),
            ..Form::plain(ModelServer::DEFAULT_MODEL)
        },
        timeouts: Timeouts {
            read: Duration::from_secs(10),
            after_reason: Duration::from_millis(100),
            ..Timeouts::default()
        },
        window: 200_000,
        price: None,
        is_local: false,
    }
}

pub(crate) fn model_of(endpoint: Endpoint) -> ProviderModel {
    model_with(endpoint, Keys::Fixed)
}

pub(crate) fn model_with(endpoint: Endpoint, keys: Keys) -> ProviderModel {
    ProviderModel::new(setup(endpoint, keys))
}

pub(crate) fn setup(endpoint: Endpoint, keys: Keys) -> Setup {
    Setup {
        http: Http::default(),
        endpoint,
        keys,
        policy: RetryPolicy::immediate(),
        has_fallback: false,
        window_cache: None,
        dumps: None,
        guard: None,
    }
}

pub(crate) fn model(server: &ModelServer) -> ProviderModel {
    model_of(endpoint(server, ApiMode::ChatCompletions))
}

pub(crate) fn hello() -> Request {
    Request::new("system", vec![Arc::new(Message::user("hello"))])
}

pub(crate) async fn ask(model: &dyn Model, request: &Request) -> Result<Answer, ModelError> {
    Answer::collect(model.stream(request).await?).await
}

pub(crate) async fn text(model: &dyn Model) -> Result<String, ModelError> {
    Ok(ask(model, &hello()).await?.text)
}

pub(crate) async fn next(stream: &mut DeltaStream) -> Delta {
    stream.next().await.expect("a delta").expect("no error")
}

/// With a bit of everything that a provider may refuse.
pub(super) fn rich_request() -> Request {
    let mut request = hello();
    let call = ToolCall {
        id: "c".to_owned(),
        name: "look".to_owned(),
        arguments: "{}".to_owned(),
        extra: None,
    };
    let mut answer = Message::assistant("");
    answer.tool_calls = vec![call.clone()];
    answer.reasoning_details = Some(json!([
        {"type": "thinking", "thinking": "x", "signature": "s"},
        {"type": "reasoning", "summary": [], "encrypted_content": "e", "_issuer": "me"},
    ]));
    let picture = Content::Parts(vec![Part::Image {
        url: "data:image/png;base64,AAAA".to_owned(),
    }]);
    request.messages.push(Arc::new(answer));
    request
        .messages
        .push(Arc::new(Message::tool_result(&call, picture)));
    request.tools = Arc::from([ToolSpec {
        name: "look".to_owned(),
        description: String::new(),
        parameters: json!({"type": "object", "properties": {"p": {"type": "string", "pattern": "^a"}}}),
    }]);
    request.limits = RequestLimits {
        temperature: Some(0.5),
        max_output_tokens: Some(10),
        effort: None,
    };
    request
}
