//! A name for a session after its first exchange. It is asked for beside the
//! conversation: nobody waits for it, and a failure only costs the name.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use hermes_llm::{Model, Request};
use hermes_store::UsageUpdate;
use hermes_tools::{StateError, StateHandle};
use hermes_types::{Message, Redaction, Role, SessionId, StopReason, TurnOutcome, redact};
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::paid::paid_answer;
use crate::spend::Spend;

/// Questions up to which a session counts as new.
const NEW_UNTIL: usize = 2;
/// Of question and answer each.
const SNIPPET: usize = 500;
const LONGEST: usize = 80;
/// Room for a model that thinks before it answers.
const OUTPUT: u32 = 500;
/// The side task has its own, shorter patience; this one only ends what hangs.
const PATIENCE: Duration = Duration::from_secs(120);

const SYSTEM: &str = "You name conversations. Answer with one title of three to seven words in the language of the user, without quotes, without a full stop, and with nothing else.";

impl Agent {
    /// The work of naming this session, when it has none and is still new. What it
    /// costs counts, to the session and against the budgets.
    pub(crate) fn naming(&self, outcome: &TurnOutcome) -> Option<BoxFuture<'static, ()>> {
        let model = self.setup.titler.clone()?;
        let state = self.session.state()?.clone();
        let questions: Vec<&Message> = self
            .history
            .messages()
            .filter(|message| message.role == Role::User)
            .collect();
        if outcome.reason != StopReason::Answered || questions.len() > NEW_UNTIL {
            return None;
        }
        let request = request(&questions.first()?.content.text(), &outcome.answer);
        let job = Naming {
            model,
            state,
            spend: self.setup.spend.clone(),
            session: self.session.id.clone(),
        };
        Some(Box::pin(async move {
            if let Err(error) = job.run(&request).await {
                tracing::warn!(%error, "the session got no name");
            }
        }))
    }
}

struct Naming {
    model: Arc<dyn Model>,
    state: StateHandle,
    spend: Spend,
    session: SessionId,
}

impl Naming {
    async fn run(self, request: &Request) -> Result<(), StateError> {
        if self.is_named().await? {
            return Ok(());
        }
        let answer = paid_answer(
            &self.spend,
            self.model.as_ref(),
            request,
            PATIENCE,
            &CancellationToken::new(),
        )
        .await?;
        let Some(answer) = answer else {
            return Ok(());
        };
        let title = cleaned(&answer.text);
        let id = self.session.clone();
        let update = UsageUpdate {
            usage: answer.usage,
            api_calls: 1,
            cost: Some(answer.cost),
            ..UsageUpdate::default()
        };
        self.state
            .run(move |database| {
                database.record_usage(&id, &update)?;
                // Somebody may have named it meanwhile; people come first.
                let unnamed = database
                    .session(&id)?
                    .is_some_and(|row| row.title.is_none());
                if let (Some(title), true) = (title, unnamed) {
                    let free = database.next_title(&title)?;
                    database.set_title(&id, &free)?;
                }
                Ok(())
            })
            .await
    }

    async fn is_named(&self) -> Result<bool, StateError> {
        let id = self.session.clone();
        self.state
            .run(move |database| Ok(database.session(&id)?.is_none_or(|row| row.title.is_some())))
            .await
    }
}

fn request(question: &str, answer: &str) -> Request {
    let snippet = |text: &str| -> String {
        let cut: String = text.trim().chars().take(SNIPPET).collect();
        redact(&cut, Redaction::Text).into_owned()
    };
    let text = format!(
        "<user>\n{}\n</user>\n<assistant>\n{}\n</assistant>\n\nName this conversation.",
        snippet(question),
        snippet(answer)
    );
    let mut request = Request::new(SYSTEM, vec![Message::user(text).into()]);
    request.limits.max_output_tokens = Some(OUTPUT);
    request
}

/// One short line without quotes; `None` when nothing of it is left.
fn cleaned(text: &str) -> Option<String> {
    let line = text.lines().find(|line| !line.trim().is_empty())?.trim();
    let lowered = line.to_ascii_lowercase();
    let line = if lowered.starts_with("title:") {
        &line["title:".len()..]
    } else {
        line
    };
    let quotes = |c: char| "\"'`“”‘’«»*".contains(c) || c.is_whitespace();
    let line = line.trim_matches(quotes).trim_end_matches('.');
    let cut: String = line.chars().take(LONGEST).collect();
    let cut = cut.trim().to_owned();
    (!cut.is_empty()).then_some(cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_models_put_around_a_title_comes_off() {
        for (said, title) in [
            ("Fixing the build", Some("Fixing the build")),
            ("\n\"Fixing the build.\"\nmore", Some("Fixing the build")),
            ("Title: **Fixing the build**", Some("Fixing the build")),
            ("“ ”", None),
            ("", None),
        ] {
            assert_eq!(cleaned(said).as_deref(), title, "{said:?}");
        }
        assert_eq!(cleaned(&"x".repeat(200)).unwrap().len(), LONGEST);
    }

    #[test]
    fn only_the_beginnings_are_shown_and_secrets_are_not() {
        let key = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
        let request = request(&format!("{key} {}", "a".repeat(2000)), "ok");
        let text = request.messages[0].content.text();
        assert!(text.len() < 700 && !text.contains(key), "{text}");
    }
}
