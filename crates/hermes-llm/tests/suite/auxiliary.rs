use hermes_config::Config;
use hermes_home::{Clock, Environment};
use hermes_http::Http;
use hermes_llm::resolve::Selection;
use hermes_llm::{Auxiliary, ErrorClass, Models, RetryPolicy};
use hermes_testkit::TestHome;
use hermes_testkit::model::{Gate, ModelServer, Reply};
use pretty_assertions::assert_eq;

use super::support::hello;

async fn auxiliary(home: &TestHome, environment: &Environment) -> Auxiliary {
    let config = Config::load(&home.home(), environment, &[]).unwrap();
    let models = Models::new(config, home.home(), Http::default(), Clock::System)
        .with_policy(RetryPolicy::immediate());
    let main = models.open(&Selection::default()).await.unwrap().model;
    Auxiliary::new(models, main)
}

#[tokio::test]
async fn the_main_model_does_side_tasks_unless_another_is_set() {
    let (home, main, small) = (TestHome::new(), ModelServer::start(), ModelServer::start());
    home.config_for(&main, "");
    main.push(Reply::text("from main"));
    let aux = auxiliary(&home, &home.environment()).await;
    assert_eq!(
        aux.ask("title_generation", &hello()).await.unwrap().text,
        "from main"
    );

    home.config_for(
        &main,
        &format!(
            "auxiliary:\n  title_generation: {{provider: custom, model: tiny, base_url: '{}', extra_body: {{seed: 7}}}}\n",
            small.url()
        ),
    );
    small.push(Reply::text("from small"));
    let aux = auxiliary(&home, &home.environment()).await;
    assert_eq!(
        aux.ask("title_generation", &hello()).await.unwrap().text,
        "from small"
    );
    let body = &small.requests()[0].body;
    assert_eq!(
        (body["model"].as_str(), body["seed"].as_u64()),
        (Some("tiny"), Some(7))
    );
    // When the chosen one fails, the main model steps in.
    small.fallback(|_| Reply::error(400, "something is wrong with this request"));
    main.push(Reply::text("from main"));
    assert_eq!(
        aux.ask("title_generation", &hello()).await.unwrap().text,
        "from main"
    );
}

#[tokio::test]
async fn a_model_without_a_provider_is_one_of_the_main_provider() {
    let (home, main) = (TestHome::new(), ModelServer::start());
    home.config_for(&main, "auxiliary:\n  compression: {model: tiny}\n");
    main.push_for("tiny", Reply::text("tiny"));
    let aux = auxiliary(&home, &home.environment()).await;
    assert_eq!(aux.ask("compression", &hello()).await.unwrap().text, "tiny");
}

#[tokio::test]
async fn a_provider_without_money_is_left_alone_and_another_with_a_key_is_asked() {
    let (home, main, router) = (TestHome::new(), ModelServer::start(), ModelServer::start());
    home.config_for(&main, "");
    let mut environment = home.environment();
    environment.set("OPENROUTER_API_KEY", "k");
    environment.set("OPENROUTER_BASE_URL", router.url());
    main.push(Reply::error(402, "insufficient credits"));
    router.fallback(|_| Reply::text("from router"));
    let aux = auxiliary(&home, &environment).await;
    for _ in 0..2 {
        assert_eq!(
            aux.ask("approval", &hello()).await.unwrap().text,
            "from router"
        );
    }
    assert_eq!(main.requests().len(), 1);
    assert_eq!(
        router.requests()[0].model(),
        "google/gemini-3-flash-preview"
    );
}

#[tokio::test]
async fn a_task_has_its_own_patience() {
    let (home, main) = (TestHome::new(), ModelServer::start());
    home.config_for(&main, "auxiliary:\n  approval: {timeout: 1}\n");
    let gate = Gate::new();
    main.push(Reply::text("late").held_by(&gate));
    let aux = auxiliary(&home, &home.environment()).await;
    let error = aux.ask("approval", &hello()).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Timeout);
    main.abandoned(1).await;
}
