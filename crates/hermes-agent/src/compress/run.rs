//! Doing it: lock, summary, split, and the message to everybody.

use std::time::{Duration, Instant};

use hermes_llm::{Model, Request};
use hermes_types::{Content, Message, Part, Role, TurnEvent};

use super::holder;
use super::plan::{Plan, Tail, plan};
use super::summary::{self, is_summary};
use super::transcript::{pruned, render, text_of};
use crate::agent::Agent;
use crate::history::{History, weight};
use crate::hold::Turn;
use crate::paid::paid_answer;
use crate::turn::{Broken, Running};

const LOCK_LAPSES: Duration = Duration::from_secs(300);
const COOL_DOWN: Duration = Duration::from_secs(60);
const SUMMARY_TIMEOUT: Duration = Duration::from_secs(120);
/// Two compressions in a row that save less than a tenth: more will not help.
const USELESS: u32 = 2;

/// How a person wants the conversation condensed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompressWish {
    /// What gets most of the space.
    pub topic: Option<String>,
    /// So many exchanges stay word for word.
    pub keep: Option<usize>,
}

impl Agent {
    /// At the start of a turn, when the history alone is already too long.
    pub(crate) async fn compress_before_turn(&mut self, turn: &mut Running) -> Result<(), Broken> {
        let options = &self.setup.options.compression;
        if self.history.len() <= options.protect_first + options.protect_last + 1 {
            return Ok(());
        }
        for _ in 0..3 {
            if !self.is_full() || !self.compress(turn, None).await? {
                break;
            }
        }
        Ok(())
    }

    /// After a batch, when what came back fills the window.
    pub(crate) async fn compress_if_full(&mut self, turn: &mut Running) -> Result<(), Broken> {
        if self.is_full() {
            self.compress(turn, None).await?;
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        let options = &self.setup.options.compression;
        let cooling = self
            .compression
            .cool_until
            .is_some_and(|until| Instant::now() < until);
        options.enabled
            && !cooling
            && self.compression.useless < USELESS
            && self.compression.current(self.estimated_prompt())
                >= options.threshold_tokens(self.window())
    }

    /// Condenses the conversation on request, whatever its size. `false` when there
    /// was nothing to condense.
    pub async fn compress_now(&mut self, wish: &CompressWish) -> Result<bool, Broken> {
        self.compression.useless = 0;
        self.compression.cool_until = None;
        let mut turn = Running::new(self);
        let _hold = match self.hold().await? {
            Turn::Ours(hold) => hold,
            Turn::Refused(why) => return Err(Broken::NotOpen(why)),
            Turn::Interrupted => return Ok(false),
        };
        self.compress(&mut turn, Some(wish)).await
    }

    /// `true` when the conversation is shorter now.
    pub(crate) async fn compress(
        &mut self,
        turn: &mut Running,
        wish: Option<&CompressWish>,
    ) -> Result<bool, Broken> {
        let Some(lock) = self.lock().await? else {
            self.events
                .notice("another process is condensing this conversation; going on without")
                .await;
            return Ok(false);
        };
        let outcome = self.compress_locked(turn, wish).await;
        self.unlock(lock).await?;
        outcome
    }

    async fn compress_locked(
        &mut self,
        turn: &mut Running,
        wish: Option<&CompressWish>,
    ) -> Result<bool, Broken> {
        let topic = wish.and_then(|wish| wish.topic.as_deref());
        let options = self.setup.options.compression.clone();
        let window = self.window();
        let messages: Vec<Message> = self.history.messages().cloned().collect();
        let all: Vec<&Message> = messages.iter().collect();
        let tail = match wish.and_then(|wish| wish.keep) {
            Some(exchanges) => Tail::Exchanges(exchanges),
            None => Tail::Tokens(options.tail_tokens(window)),
        };
        let found = match (plan(&all, options.protect_first, tail), wish) {
            // Too short to protect its beginning; who asks for it gets it all the same.
            (None, Some(_)) => plan(&all, 0, tail),
            (found, _) => found,
        };
        let Some(plan) = found else {
            return Ok(false);
        };
        let before_tokens: usize = all.iter().map(|message| weight(message) / 4).sum();
        let middle: Vec<&Message> = all[plan.middle.clone()].to_vec();
        let previous = middle
            .iter()
            .find(|message| is_summary(message))
            .map(|message| summary::inner(&text_of(message)));
        let fresh: Vec<Message> = middle
            .iter()
            .filter_map(|message| match is_summary(message) {
                false => Some((*message).clone()),
                true => summary::request(message).map(Message::user),
            })
            .collect();
        let fresh: Vec<&Message> = fresh.iter().collect();
        let middle_tokens: usize = fresh.iter().map(|message| weight(message) / 4).sum();
        let budget = (middle_tokens as u64 / 5)
            .max(2000)
            .min((window / 20).clamp(2000, 12_000));
        let text = match self
            .summarize(&fresh, previous.as_deref(), topic, budget, turn)
            .await?
        {
            Some(text) => text,
            None if self.control.interrupted().is_some() => return Ok(false),
            None if options.abort_on_failure => {
                self.compression.cool_until = Some(Instant::now() + COOL_DOWN);
                self.events
                    .notice("no summary could be written; the conversation stays as it is (compression.abort_on_summary_failure)")
                    .await;
                return Ok(false);
            }
            None => {
                self.compression.cool_until = Some(Instant::now() + COOL_DOWN);
                self.events
                    .notice("no summary could be written; older messages were condensed by rule")
                    .await;
                summary::local(&fresh, previous.as_deref())
            }
        };
        let shorter = self.assemble(&messages, &plan, &text);
        let after_tokens: usize = shorter.iter().map(|message| weight(message) / 4).sum();
        if after_tokens >= before_tokens && wish.is_none() {
            self.compression.useless += 1;
            return Ok(false);
        }
        if before_tokens.saturating_sub(after_tokens) * 10 < before_tokens {
            self.compression.useless += 1;
        } else {
            self.compression.useless = 0;
        }
        self.go_on_in_child(shorter, messages.len()).await?;
        if self.compression.useless >= USELESS {
            self.events
                .notice("condensing saves hardly anything any more; it is off for the rest of this session")
                .await;
        }
        Ok(true)
    }

    /// Head, summary and tail as one valid list.
    fn assemble(&self, messages: &[Message], plan: &Plan, text: &str) -> Vec<Message> {
        // A request that stays in head or tail needs no copy.
        let task = messages
            .iter()
            .enumerate()
            .rev()
            .filter(|(_, message)| message.role == Role::User)
            .find_map(|(index, message)| Some((index, summary::request(message)?)))
            .filter(|(index, _)| plan.middle.contains(index))
            .map(|(_, text)| text);
        let todos = self
            .setup
            .todos
            .as_ref()
            .and_then(|todos| todos.open_items());
        let summary = summary::message(
            text,
            task.as_deref(),
            todos.as_deref(),
            self.session.id.as_str(),
        );
        let mut out: Vec<Message> = Vec::new();
        for message in &messages[plan.head.clone()] {
            let mut message = message.clone();
            if message.role == Role::Tool {
                let arguments = out.iter().rev().find_map(|earlier| {
                    earlier
                        .tool_calls
                        .iter()
                        .find(|call| Some(&call.id) == message.tool_call_id.as_ref())
                        .map(|call| call.arguments.clone())
                });
                if let Some(content) = pruned(&message, arguments.as_deref()) {
                    message.content = content;
                }
            }
            out.push(message);
        }
        let tail = &messages[plan.tail.clone()];
        let before = out.last().map(|message| message.role);
        let after = tail.first().map(|message| message.role);
        out.push(match (before, after) {
            (Some(Role::Tool), Some(Role::User)) => Message::assistant(summary),
            // Before another user message it becomes the first part of that one.
            _ => Message::user(summary),
        });
        out.extend(tail.iter().cloned());
        leave_out_old_pictures(&mut out);
        crate::repair::mend(out)
    }

    async fn go_on_in_child(
        &mut self,
        shorter: Vec<Message>,
        messages_before: usize,
    ) -> Result<(), Broken> {
        let setup = self.setup.clone();
        self.write_snapshot().await;
        let system = self.compose_prompt().await;
        let (previous, rows) = self.session.split(&setup, &system, shorter.clone()).await?;
        self.control.set_session(&self.session.id);
        self.system_changed(system);
        self.history = History::from_rows(shorter, &rows);
        self.compression.observe(None, 0);
        self.events
            .send(TurnEvent::Compressed {
                previous,
                session: self.session.id.clone(),
                messages_before: messages_before as u32,
                messages_after: self.history.len() as u32,
            })
            .await;
        Ok(())
    }

    /// Asks for the summary; the main model stands in when a configured one fails.
    async fn summarize(
        &self,
        messages: &[&Message],
        previous: Option<&str>,
        topic: Option<&str>,
        budget: u64,
        turn: &mut Running,
    ) -> Result<Option<String>, Broken> {
        let mut models = Vec::new();
        models.extend(self.setup.summarizer.clone());
        models.push(self.setup.model.clone());
        for model in models {
            // A smaller model gets a shorter transcript rather than an error.
            let room = (model.context_window().saturating_mul(3) as usize).max(20_000);
            let mut transcript = render(messages.iter().copied());
            if transcript.len() > room {
                let mut cut = transcript.len() - room;
                while !transcript.is_char_boundary(cut) {
                    cut += 1;
                }
                transcript = format!("[… the beginning is left out …]\n{}", &transcript[cut..]);
            }
            let question = summary::question(&transcript, previous, topic, budget * 3 / 4);
            let mut request = Request::new(summary::SYSTEM, vec![Message::user(question).into()]);
            request.limits.max_output_tokens = u32::try_from(budget * 13 / 10).ok();
            if let Some(text) = self.one_answer(model.as_ref(), &request, turn).await? {
                return Ok(Some(text));
            }
            if self.control.interrupted().is_some() {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// The text of one plain answer, paid for like any other.
    async fn one_answer(
        &self,
        model: &dyn Model,
        request: &Request,
        turn: &mut Running,
    ) -> Result<Option<String>, Broken> {
        let cancel = self.control.cancel_token();
        let spend = &self.setup.spend;
        let answer = paid_answer(spend, model, request, SUMMARY_TIMEOUT, &cancel).await?;
        let Some(answer) = answer else {
            return Ok(None);
        };
        turn.spent(answer.usage, answer.cost);
        self.session
            .record_usage(&self.setup, answer.usage, answer.cost)
            .await?;
        Ok(Some(answer.text).filter(|text| !text.is_empty()))
    }

    async fn lock(&self) -> Result<Option<String>, Broken> {
        let holder = holder::new();
        let Some(state) = self.session.state() else {
            return Ok(Some(holder));
        };
        let (id, name) = (self.session.id.clone(), holder.clone());
        let got = state
            .run(move |database| {
                if database.lock_compression(&id, &name, LOCK_LAPSES)? {
                    return Ok(true);
                }
                match database.compression_holder(&id)? {
                    Some(other) if holder::is_gone(&other) => {
                        database.unlock_compression(&id, &other)?;
                        database.lock_compression(&id, &name, LOCK_LAPSES)
                    }
                    _ => Ok(false),
                }
            })
            .await?;
        Ok(got.then(|| format!("{}\n{holder}", self.session.id)))
    }

    async fn unlock(&self, lock: String) -> Result<(), Broken> {
        let (Some(state), Some((id, holder))) = (self.session.state(), lock.split_once('\n'))
        else {
            return Ok(());
        };
        let (id, holder) = (hermes_types::SessionId::new(id), holder.to_owned());
        state
            .run(move |database| database.unlock_compression(&id, &holder).map(drop))
            .await
    }
}

/// Pictures from before the newest one that a person showed become words: they cost
/// as much as pages and are rarely looked at again.
fn leave_out_old_pictures(messages: &mut [Message]) {
    let has_picture = |message: &Message| match &message.content {
        Content::Parts(parts) => parts.iter().any(|part| matches!(part, Part::Image { .. })),
        Content::Text(_) => false,
    };
    let newest = messages
        .iter()
        .rposition(|message| message.role == Role::User && has_picture(message))
        .unwrap_or(0);
    for message in &mut messages[..newest] {
        if has_picture(message) {
            message.content = Content::Text(text_of(message));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn only_pictures_before_the_newest_of_a_person_become_words() {
        let shown = |text: &str| {
            Content::Parts(vec![
                Part::Text { text: text.into() },
                Part::Image {
                    url: "data:image/png;base64,AA==".into(),
                },
            ])
        };
        let mut messages = vec![
            Message::user(shown("first")),
            Message::assistant("seen"),
            Message::user(shown("second")),
        ];
        leave_out_old_pictures(&mut messages);
        assert_eq!(
            messages[0].content,
            Content::Text("first\n[picture]".into())
        );
        assert_eq!(messages[2].content, shown("second"));
        let mut plain = vec![Message::user("a"), Message::assistant("b")];
        leave_out_old_pictures(&mut plain);
        assert_eq!(plain[0], Message::user("a"));
    }
}
