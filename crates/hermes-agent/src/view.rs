//! Pictures in words, for models that are to read words only: each picture of the
//! newest message is described by the vision task before the conversation's model is
//! asked. The message is on disk before that, and again after it.

use std::time::Duration;

use hermes_llm::Request;
use hermes_types::{Content, Message, Part, Role};

use crate::agent::Agent;
use crate::paid::paid_answer;
use crate::turn::{Broken, Running};

const SYSTEM: &str = "You describe a picture for somebody who cannot see it and has to work with it. Say what it is, quote all text in it exactly, and give what the question asks about in full detail. No opinion, no introduction.";
/// The task has a time limit of its own; this one holds in any case.
const PATIENCE: Duration = Duration::from_secs(600);

impl Agent {
    /// Replaces the pictures of the newest message, where that is wanted.
    pub(crate) async fn describe_pictures(&mut self, turn: &mut Running) -> Result<(), Broken> {
        let Some(viewer) = self.setup.viewer.clone() else {
            return Ok(());
        };
        let newest = self.history.messages().next_back();
        let Some(Content::Parts(parts)) = newest
            .filter(|message| message.role == Role::User)
            .map(|message| message.content.clone())
        else {
            return Ok(());
        };
        let question = newest.map(|message| message.content.text());
        let mut words = Vec::new();
        for part in parts {
            match part {
                Part::Text { text } => words.push(text),
                Part::Image { url } => {
                    let asked = Content::Parts(vec![
                        Part::Text {
                            text: format!(
                                "The question that comes with this picture:\n{}",
                                question.as_deref().unwrap_or_default()
                            ),
                        },
                        Part::Image { url },
                    ]);
                    let request = Request::new(SYSTEM, vec![Message::user(asked).into()]);
                    words.push(self.described(viewer.as_ref(), &request, turn).await?);
                }
            }
        }
        let content = Content::Text(words.join("\n\n"));
        let last = self.history.len() - 1;
        if let Some(row) = self.history.set_content(last, content.clone()) {
            self.session.set_content(row, content).await?;
        }
        Ok(())
    }

    async fn described(
        &self,
        viewer: &dyn hermes_llm::Model,
        request: &Request,
        turn: &mut Running,
    ) -> Result<String, Broken> {
        let cancel = self.control.cancel_token();
        let spend = &self.setup.spend;
        let answer = paid_answer(spend, viewer, request, PATIENCE, &cancel).await?;
        let Some(answer) = answer.filter(|answer| !answer.text.is_empty()) else {
            self.events
                .warn("a picture could not be described (auxiliary.vision); the model is told so")
                .await;
            return Ok("[A picture that nobody could describe.]".to_owned());
        };
        turn.spent(answer.usage, answer.cost);
        self.session
            .record_usage(&self.setup, answer.usage, answer.cost)
            .await?;
        Ok(format!("[The picture, described: {}]", answer.text))
    }
}
