//! Triage with an assistant that says what it is told to say; also `/kanban`.

use std::sync::{Arc, Mutex};

use hermes_kanban::command::slash;
use hermes_kanban::machine::Fence;
use hermes_kanban::triage::{Assistant, NoAnswer, Question};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::support::TestHome;

/// Answers once with each line of its script, and may do something first.
struct Scripted {
    answers: Mutex<Vec<Result<String, NoAnswer>>>,
    asked: Mutex<Vec<Question>>,
    meanwhile: Box<dyn Fn() + Send + Sync>,
}

impl Assistant for Scripted {
    fn ask(&self, question: &Question) -> Result<String, NoAnswer> {
        (self.meanwhile)();
        self.asked.lock().unwrap().push(question.clone());
        self.answers.lock().unwrap().remove(0)
    }
}

fn scripted(answers: Vec<Result<String, NoAnswer>>) -> Arc<Scripted> {
    Arc::new(Scripted {
        answers: Mutex::new(answers),
        asked: Mutex::default(),
        meanwhile: Box::new(|| {}),
    })
}

fn home_with(answer: &str) -> (TestHome, Arc<Scripted>, String) {
    let mut home = TestHome::new();
    home.add_profile("builder");
    std::fs::write(
        home.root().join("profiles/builder/profile.yaml"),
        "description: Builds things.\n",
    )
    .unwrap();
    home.add_profile("reviewer");
    let assistant = scripted(vec![Ok(answer.to_owned())]);
    home.context.assistant = Some(assistant.clone());
    let id = home.create("'rough idea' --body 'export as CSV' --triage --tenant acme --priority 4");
    (home, assistant, id)
}

#[test]
fn a_rough_task_gets_its_words() {
    let answer = "```json\n{\"title\": \"Export as CSV\", \"body\": \"## Goal\\nCSV\"}\n```";
    let (home, assistant, id) = home_with(answer);
    assert_eq!(
        home.ok(&format!("specify {id}")),
        format!("Specified {id} → todo — retitled: 'Export as CSV'\n")
    );
    let shown = home.json(&format!("show {id} --json"));
    assert_eq!(shown["task"]["title"], "Export as CSV");
    assert_eq!(shown["task"]["status"], "ready", "nothing holds it");
    assert_eq!(
        home.event_kinds(&id),
        ["created", "specified", "commented", "promoted"]
    );
    let asked = assistant.asked.lock().unwrap();
    assert_eq!(
        (asked[0].task, asked[0].max_tokens),
        ("triage_specifier", 6000)
    );
    assert!(asked[0].user.contains("export as CSV"));
}

#[test]
fn prose_becomes_the_body_and_nothing_usable_is_an_outcome() {
    let (home, _, id) = home_with("Just do the export.");
    home.ok(&format!("specify {id}"));
    assert_eq!(
        home.json(&format!("show {id} --json"))["task"]["body"],
        "Just do the export."
    );

    for (answer, reason) in [
        (Ok(String::new()), "LLM returned an empty response"),
        (
            Ok("{\"other\": 1}".to_owned()),
            "LLM response missing title and body",
        ),
        (
            Err(NoAnswer::Failed("Timeout".into())),
            "LLM error: Timeout",
        ),
        (
            Err(NoAnswer::NotConfigured),
            "no auxiliary client configured",
        ),
        (Err(NoAnswer::Unavailable), "auxiliary client unavailable"),
    ] {
        let (mut home, _, id) = home_with("");
        home.context.assistant = Some(scripted(vec![answer]));
        let outcome = home.kanban(&format!("specify {id} --json"));
        assert_eq!(outcome.exit, 1);
        let line: Value = serde_json::from_str(&outcome.out).unwrap();
        assert_eq!(
            line,
            json!({"task_id": id, "ok": false, "reason": reason, "new_title": null})
        );
        assert_eq!(home.status(&id), "triage");
    }
}

#[test]
fn the_words_of_the_command_are_checked() {
    let (home, _, id) = home_with("x");
    assert_eq!(home.kanban("specify").exit, 2);
    assert_eq!(home.kanban(&format!("specify {id} --all")).exit, 2);
    let unknown = home.kanban("specify t_00000000");
    assert_eq!(
        (unknown.exit, unknown.err.as_str()),
        (1, "cannot specify t_00000000: unknown task id\n")
    );
    let ready = home.create("ready");
    let refused = home.kanban(&format!("decompose {ready}"));
    assert!(
        refused
            .err
            .contains("task is not in triage (status='ready')"),
        "{}",
        refused.err
    );
    home.ok(&format!("archive {id}"));
    assert_eq!(
        home.ok("specify --all --json"),
        "{\"specified\":0,\"total\":0}\n"
    );
    assert_eq!(
        home.ok("decompose --all --json"),
        "{\"decomposed\":0,\"total\":0}\n"
    );
}

#[test]
fn a_large_task_is_split_and_wakes_when_its_parts_are_done() {
    let answer = json!({
        "fanout": true,
        "rationale": "two halves",
        "tasks": [
            {"title": "first", "body": "a", "assignee": "builder", "parents": []},
            {"title": "second", "body": "b", "assignee": "stranger", "parents": [0, 1, 7, "x", -1]},
        ],
    });
    let (mut home, assistant, id) = home_with(&answer.to_string());
    home.set_config("kanban:\n  default_assignee: reviewer\n  orchestrator_profile: builder\n");
    let printed = home.ok(&format!("decompose {id} --json"));
    let line: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((&line["ok"], &line["fanout"]), (&json!(true), &json!(true)));
    let children: Vec<String> = line["child_ids"]
        .as_array()
        .unwrap()
        .iter()
        .map(|id| id.as_str().unwrap().to_owned())
        .collect();
    let prompt = assistant.asked.lock().unwrap()[0].user.clone();
    assert!(
        prompt.contains("builder: Builds things.") && prompt.contains("use: reviewer"),
        "{prompt}"
    );
    let task = |id: &str| home.json(&format!("show {id} --json"));
    assert_eq!(task(&children[0])["task"]["status"], "ready");
    assert_eq!(task(&children[0])["task"]["tenant"], "acme");
    assert_eq!(task(&children[0])["task"]["priority"], 4, "inherited");
    assert_eq!(
        task(&children[1])["task"]["assignee"],
        "reviewer",
        "a stranger's work goes to the fallback"
    );
    assert_eq!(task(&children[1])["parents"], json!([children[0]]));
    assert_eq!(task(&id)["task"]["assignee"], "builder");
    assert_eq!(task(&id)["task"]["status"], "todo");
    home.ok(&format!("complete {}", children[0]));
    assert_eq!(home.status(&id), "todo");
    home.ok(&format!("complete {}", children[1]));
    assert_eq!(home.status(&id), "ready", "now the whole can be judged");
}

#[test]
fn children_wait_when_they_are_told_to() {
    let answer = json!({"fanout": true, "tasks": [{"title": "a"}, {"title": "b"}]});
    let (mut home, _, id) = home_with(&answer.to_string());
    home.set_config("kanban:\n  auto_promote_children: false\n");
    let line: Value = serde_json::from_str(&home.ok(&format!("decompose {id} --json"))).unwrap();
    let child = line["child_ids"][0].as_str().unwrap().to_owned();
    for _ in 0..3 {
        home.ok("list");
    }
    assert_eq!(home.status(&child), "scheduled", "and longer than one look");
    home.ok(&format!("unblock {child}"));
    assert_eq!(home.status(&child), "ready");
}

#[test]
fn circles_and_tasks_that_moved_leave_no_children_behind() {
    let circle = json!({
        "fanout": true,
        "tasks": [{"title": "a", "parents": [1]}, {"title": "b", "parents": [0]}],
    });
    let (home, _, id) = home_with(&circle.to_string());
    let outcome = home.kanban(&format!("decompose {id}"));
    assert_eq!(
        outcome.err,
        format!(
            "cannot decompose {id}: DB rejected graph: cyclic dependency detected in decomposed children list\n"
        )
    );
    assert_eq!(home.json("list --json").as_array().unwrap().len(), 1);

    let fine = json!({"fanout": true, "tasks": [{"title": "a"}, {"title": "b"}]});
    let (mut home, _, id) = home_with("");
    let root = home.root().to_owned();
    let task = hermes_types::TaskId::new(id.as_str());
    home.context.assistant = Some(Arc::new(Scripted {
        answers: Mutex::new(vec![Ok(fine.to_string())]),
        asked: Mutex::default(),
        meanwhile: Box::new(move || {
            let board =
                hermes_kanban::store::Board::open(&root.join("kanban.db"), &Default::default());
            board.unwrap().archive(&task, Fence::Open).unwrap();
        }),
    }));
    let outcome = home.kanban(&format!("decompose {id}"));
    assert!(
        outcome
            .err
            .contains("task moved out of triage before promotion"),
        "{}",
        outcome.err
    );
    assert_eq!(
        home.json("list --archived --json")
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn a_task_that_needs_no_parts_keeps_its_assignee() {
    let one = json!({"fanout": false, "title": "Clear", "body": "b", "assignee": "builder"});
    let (home, _, id) = home_with(&one.to_string());
    home.ok(&format!("assign {id} reviewer"));
    assert_eq!(
        home.ok(&format!("decompose {id}")),
        format!("Specified {id} → todo — retitled: 'Clear'\n")
    );
    assert_eq!(
        home.json(&format!("show {id} --json"))["task"]["assignee"],
        "reviewer"
    );
}

#[test]
fn a_chat_uses_the_same_words() {
    let home = TestHome::new();
    assert!(slash("", &home.context).starts_with("usage: hermes kanban"));
    let created = slash("create 'From a chat' --assignee w", &home.context);
    assert!(created.starts_with("Created t_"), "{created}");
    assert!(slash("list", &home.context).contains("From a chat"));
    assert_eq!(
        slash("show t_00000000", &home.context),
        "no such task: t_00000000"
    );
    for bad in ["create 'open", "nonsense", "watch", "tail t_1", "daemon"] {
        let answer = slash(bad, &home.context);
        assert!(
            answer.starts_with("⚠ /kanban usage error"),
            "{bad}: {answer}"
        );
    }
}
