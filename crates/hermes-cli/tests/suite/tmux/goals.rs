//! Goals that a conversation works towards by itself.

use hermes_testkit::model::{Gate, Reply};
use pretty_assertions::assert_eq;

use super::Stage;

fn judged_by_another(server_url: &str) -> String {
    format!("  goal_judge:\n    provider: custom\n    model: judge\n    base_url: {server_url}\n")
}

#[test]
fn a_goal_takes_turns_until_the_judge_is_satisfied() {
    let stage = Stage::new();
    let config = stage.scratch.read("config.yaml");
    let judge = judged_by_another(&stage.server.url());
    stage.scratch.write(
        "config.yaml",
        config.replace("auxiliary:\n", &format!("auxiliary:\n{judge}")),
    );
    let verdict = |text: &str| stage.server.push_for("judge", Reply::text(text));
    let chat = stage.chat(&[]);
    chat.enter("/goal").wait_for("There is no goal");
    stage.push(Reply::text("half of it"));
    verdict(r#"{"done": false, "reason": "the other half"}"#);
    stage.push(Reply::text("all of it"));
    verdict("```json\n{\"done\": true, \"reason\": \"nothing is left\"}\n```");
    chat.enter("/goal do all of it")
        .wait_for("✓ Goal achieved: nothing is left");
    assert_eq!(stage.requests().len(), 2);
    assert!(stage.last_question().contains("the other half"));
    chat.enter("/goal status")
        .wait_for("reached, 2 of 20 turns used");
    // Ctrl+C pauses it, and `resume` goes on.
    let gate = Gate::new();
    stage.push(Reply::text("begun ").then_stall(&gate));
    chat.enter("/goal another one");
    gate.wait_reached();
    chat.keys(&["C-c"]).wait_for("The goal is paused");
    stage.push(Reply::text("done after all"));
    verdict(r#"{"done": true, "reason": "as it should be"}"#);
    chat.enter("/goal resume").wait_for("as it should be");
    chat.enter("/subgoal with care").wait_for("1. with care");
    chat.enter("/subgoal remove 2")
        .wait_for("is the number of none of 1");
    chat.enter("/goal clear").wait_for("The goal is cleared.");
}
