//! `/model` while a turn runs, and with names that nobody serves.

use hermes_testkit::model::{Gate, ModelServer, Reply};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::Stage;

fn listing(stage: &Stage) {
    stage.server.models(vec![
        json!({"id": ModelServer::DEFAULT_MODEL}),
        json!({"id": "second-model"}),
    ]);
}

#[test]
fn a_model_is_chosen_while_a_turn_runs_and_answers_after_it() {
    let stage = Stage::new();
    listing(&stage);
    let gate = Gate::new();
    stage.push(Reply::text("the first speaks").held_by(&gate));
    let chat = stage.chat(&[]);
    chat.enter("go");
    gate.wait_reached();
    // The list is there at once, and so is the word that the choice is noted.
    chat.enter("/model").wait_for("type to filter");
    chat.type_text("second").wait_for("❯ second-model");
    chat.keys(&["Enter"])
        .wait_for("second-model answers when this turn has ended");
    gate.release();
    chat.wait_for("From now on: second-model");
    stage
        .server
        .push_for("second-model", Reply::text("the second speaks"));
    chat.enter("and now?").wait_for("the second speaks");
    assert_eq!(stage.requests().len(), 1, "the first model was asked once");
}

#[test]
fn a_model_that_its_provider_does_not_list_is_refused_with_what_comes_near() {
    let stage = Stage::new();
    listing(&stage);
    let chat = stage.chat(&[]);
    let screen = chat
        .enter("/model secnd-model")
        .wait_for("near it: second-model");
    assert!(screen.contains("lists no model"), "{screen}");
    chat.enter("/model secnd-model --force")
        .wait_for("From now on: secnd-model");
    // Where there is no list, any name will do.
    let stage = Stage::new();
    stage.server.models(Vec::new());
    let chat = stage.chat(&[]);
    chat.enter("/model unheard-of")
        .wait_for("From now on: unheard-of");
}

#[test]
fn the_demo_model_is_reached_by_name_and_what_answers_is_on_top_of_the_list() {
    let stage = Stage::new();
    listing(&stage);
    let chat = stage.chat(&[]);
    let screen = chat.enter("/model").wait_for("type to filter");
    let now = format!("❯ {} (now)", ModelServer::DEFAULT_MODEL);
    assert!(screen.contains(&now), "{screen}");
    chat.keys(&["Escape"]).wait_gone("type to filter");
    chat.enter("/model demo")
        .wait_for("From now on: demo (demo)");
    let screen = chat.enter("/model").wait_for("type to filter");
    assert!(screen.contains("❯ demo (now)"), "{screen}");
}
