//! The story.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hermes_process::Captured;
use serde_json::{Value, json};

use super::Args;
use super::image::{Ground, ground};
use super::stage::{Stage, word};
use super::teller::Teller;
use crate::{CommandError, Context, ErrorKind};

/// The board must be done by then.
const BOARD_PATIENCE: Duration = Duration::from_secs(90);
const GLANCE: Duration = Duration::from_millis(120);

pub(super) async fn play(
    args: &Args,
    context: &Context,
    stage: &mut Stage,
    teller: &mut Teller<'_>,
) -> Result<(), CommandError> {
    let ground = ground(args.image.as_deref(), args.local, context, stage).await;
    let in_container = prepare(stage, teller, ground).await?;
    conversation(stage, teller, in_container).await?;
    board(stage, teller).await?;
    if in_container {
        container(stage, teller).await?;
    }
    Ok(())
}

/// Settings of the demo's home. Says whether there is a container to work in.
async fn prepare(
    stage: &mut Stage,
    teller: &mut Teller<'_>,
    ground: Ground,
) -> Result<bool, CommandError> {
    set(stage, &["model.provider", "demo"]).await?;
    set(stage, &["model.default", "demo"]).await?;
    let (sentence, in_container) = match ground {
        Ground::Container {
            engine,
            image,
            made,
        } => {
            set(stage, &["terminal.backend", "docker"]).await?;
            set(stage, &["terminal.docker_image", &image]).await?;
            let from = match made {
                true => "an image made of this machine's shell",
                false => image.as_str(),
            };
            let sentence = format!("Commands run in a {} container of {from}.", engine.name());
            teller.fact("backend", json!("docker"));
            teller.fact("image", json!(image));
            stage.uses_engine();
            (sentence, true)
        }
        Ground::Local(reason) => {
            teller.fact("backend", json!("local"));
            teller.fact("why_local", json!(reason));
            let sentence =
                format!("Commands run on this machine, in a temporary directory ({reason}).");
            (sentence, false)
        }
    };
    teller
        .say(&format!(
            "Everything here is real: real tools, a real board, real processes, in a home of its own \
             that is gone afterwards. Only the model is a built-in planner. {sentence}"
        ))
        .await?;
    Ok(in_container)
}

async fn set(stage: &Stage, pair: &[&str]) -> Result<(), CommandError> {
    let mut arguments = vec!["config", "set"];
    arguments.extend_from_slice(pair);
    quietly(stage, &arguments).await.map(drop)
}

/// A command behind the scenes: it must succeed.
async fn quietly(stage: &Stage, arguments: &[&str]) -> Result<Captured, CommandError> {
    let done = stage.hermes(arguments).await?;
    if done.success() {
        return Ok(done);
    }
    Err(CommandError::new(
        ErrorKind::Internal,
        format!(
            "`hermes {}` failed: {}",
            arguments.join(" "),
            done.stderr_text().trim()
        ),
    ))
}

fn json_of(done: &Captured) -> Result<Value, CommandError> {
    serde_json::from_slice(&done.stdout).map_err(CommandError::internal)
}

/// A command of the story: shown, run, and its output shown.
async fn act(
    stage: &Stage,
    teller: &mut Teller<'_>,
    arguments: &[&str],
) -> Result<Captured, CommandError> {
    let command = typed(arguments);
    teller.types(&command).await?;
    let started = Instant::now();
    let done = stage.hermes(arguments).await?;
    teller.printed(&command, &done, started.elapsed()).await?;
    Ok(done)
}

/// The command line as one would type it.
fn typed(arguments: &[&str]) -> String {
    let mut out = "hermes".to_owned();
    for argument in arguments {
        out.push(' ');
        let plain = |c: char| c.is_ascii_alphanumeric() || "/._-:=".contains(c);
        if !argument.is_empty() && argument.chars().all(plain) {
            out.push_str(argument);
        } else {
            out.push_str(&format!("'{}'", argument.replace('\'', "'\\''")));
        }
    }
    out
}

async fn conversation(
    stage: &Stage,
    teller: &mut Teller<'_>,
    in_container: bool,
) -> Result<(), CommandError> {
    teller
        .scene(
            "A conversation",
            "A request becomes tool calls; each is on disk before the next one starts.",
        )
        .await?;
    let first = act(
        stage,
        teller,
        &[
            "-z",
            "create greet.sh with \"echo hello from $(uname -s)\" then run \"sh greet.sh\"",
        ],
    )
    .await?;
    let second = act(
        stage,
        teller,
        &[
            "--continue",
            "-z",
            "replace hello with goodbye in greet.sh then run \"sh greet.sh\"",
        ],
    )
    .await?;
    let said = |done: &Captured, text: &str| done.stdout_text().contains(text);
    let ok = said(&first, "hello from Linux") && said(&second, "goodbye from");
    let place = if in_container { "container" } else { "machine" };
    teller.showed(ok, format!("written, run, edited, run again: {place}"));
    Ok(())
}

/// One card of the demo's board.
struct Card {
    title: &'static str,
    assignee: &'static str,
    body: &'static str,
    /// Index of the cards that come first.
    after: &'static [usize],
}

const CARDS: &[Card] = &[
    Card {
        title: "Find out what machine this is",
        assignee: "researcher",
        body: "run \"uname -srm > machine.txt\"",
        after: &[],
    },
    Card {
        title: "Find out what time it is",
        assignee: "researcher",
        body: "run \"date +%H:%M > time.txt\"",
        after: &[],
    },
    Card {
        title: "Write the report",
        assignee: "writer",
        body: "run \"echo It is $(cat time.txt) on $(cat machine.txt) > report.txt\"",
        after: &[0, 1],
    },
    Card {
        title: "Proofread the report",
        assignee: "researcher",
        body: "search for \"It is\" in report.txt then read report.txt",
        after: &[2],
    },
    Card {
        title: "Invent a slogan",
        assignee: "writer",
        body: "think of a slogan for the report",
        after: &[2],
    },
];

async fn board(stage: &mut Stage, teller: &mut Teller<'_>) -> Result<(), CommandError> {
    teller
        .scene(
            "A board and two profiles",
            "Cards wait for the cards they need. The dispatcher hands each one that is ready to a worker \
             process of its profile; the last one is beyond the planner, which says so instead of pretending.",
        )
        .await?;
    for name in ["researcher", "writer"] {
        quietly(stage, &["profile", "create", name, "--clone", "--no-alias"]).await?;
        // Workers share a directory of this machine.
        quietly(
            stage,
            &["-p", name, "config", "set", "terminal.backend", "local"],
        )
        .await?;
    }
    let workspace = format!("dir:{}", word(&stage.project()));
    let mut ids: Vec<String> = Vec::new();
    for card in CARDS {
        let mut arguments = vec![
            "kanban",
            "create",
            card.title,
            "--assignee",
            card.assignee,
            "--body",
            card.body,
        ];
        for &parent in card.after {
            arguments.extend(["--parent", ids[parent].as_str()]);
        }
        teller.types(&typed(&arguments)).await?;
        arguments.extend(["--workspace", workspace.as_str(), "--json"]);
        let made = json_of(&quietly(stage, &arguments).await?)?;
        let id = made["id"].as_str().unwrap_or_default().to_owned();
        teller.progress(&id)?;
        ids.push(id);
    }
    teller.types("hermes kanban daemon --interval 1").await?;
    stage
        .start_dispatcher(&["kanban", "daemon", "--interval", "1"])
        .await?;
    let ends = watch(stage, teller).await?;
    stage.end_dispatcher().await;
    act(stage, teller, &["kanban", "list"]).await?;
    if let Some(id) = ids.last() {
        act(stage, teller, &["kanban", "runs", id]).await?;
    }
    let count = |status: &str| ends.values().filter(|end| *end == status).count();
    let (done, blocked) = (count("done"), count("blocked"));
    teller.fact("tasks", json!(ends));
    let report = std::fs::read_to_string(stage.project().join("report.txt")).unwrap_or_default();
    teller.fact("report", json!(report.trim()));
    let ok = done == CARDS.len() - 1 && blocked == 1 && report.starts_with("It is ");
    teller.showed(
        ok,
        format!("{done} done, {blocked} blocked with its reason"),
    );
    Ok(())
}

/// Shows every change on the board until nothing is left to do.
async fn watch(
    stage: &Stage,
    teller: &mut Teller<'_>,
) -> Result<BTreeMap<String, String>, CommandError> {
    let started = Instant::now();
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    loop {
        let listed = quietly(stage, &["kanban", "list", "--json"]).await?;
        let cards = json_of(&listed)?;
        let mut over = true;
        for card in cards.as_array().into_iter().flatten() {
            let field = |name: &str| card[name].as_str().unwrap_or_default();
            let status = field("status").to_owned();
            over &= matches!(status.as_str(), "done" | "blocked");
            let before = seen.insert(field("id").to_owned(), status.clone());
            if before.as_ref() != Some(&status) && (before.is_some() || status != "todo") {
                let (who, what) = (field("assignee"), field("title"));
                let at = started.elapsed().as_secs_f64();
                teller.progress(&format!("{at:>5.1} s  {status:<8}  {who:<10}  {what}"))?;
            }
        }
        if over {
            return Ok(seen);
        }
        if started.elapsed() > BOARD_PATIENCE {
            return Err(CommandError::new(
                ErrorKind::Internal,
                "the board of the demo did not come to an end; `hermes demo --keep` keeps it to look at",
            ));
        }
        tokio::time::sleep(GLANCE).await;
    }
}

async fn container(stage: &Stage, teller: &mut Teller<'_>) -> Result<(), CommandError> {
    teller
        .scene(
            "A container that stays",
            "One process starts something in the background and exits. The next one finds the same container, \
             with the work still going on.",
        )
        .await?;
    let ticks = "n=0; while sleep 0.2; do n=$((n+1)); echo tick $n >> /tmp/ticks; done";
    let start = format!("start \"{ticks}\" in the background");
    act(stage, teller, &["-z", &start]).await?;
    let before = act(
        stage,
        teller,
        &["sandbox", "exec", "--", "hostname; tail -n 1 /tmp/ticks"],
    )
    .await?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let after = act(
        stage,
        teller,
        &["sandbox", "exec", "--", "hostname; tail -n 1 /tmp/ticks"],
    )
    .await?;
    act(stage, teller, &["sandbox", "ls"]).await?;
    let (first, second) = (last_tick(&before), last_tick(&after));
    let same = host(&before) == host(&after) && !host(&before).is_empty();
    teller.fact(
        "container",
        json!({ "host": host(&before), "same": same, "ticks": [first, second] }),
    );
    teller.showed(
        same && second > first,
        format!("one container, tick {first} to {second}"),
    );
    Ok(())
}

fn host(done: &Captured) -> String {
    done.stdout_text()
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}

fn last_tick(done: &Captured) -> u64 {
    let text = done.stdout_text();
    let number = text.split_whitespace().last();
    number.and_then(|word| word.parse().ok()).unwrap_or(0)
}
