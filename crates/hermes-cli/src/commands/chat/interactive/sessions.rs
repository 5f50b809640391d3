//! Commands about sessions: begin, go on, take back, name, look back.

use hermes_store::{ListFilter, ListOrder, ListedSession, StoredMessage};
use hermes_tui::{Outcome, PickItem, Picker, Switch, Then};
use hermes_types::{Role, SessionId};

use super::host::ChatHost;
use crate::CommandError;
use crate::commands::sessions::ago;

const OFFERED: usize = 200;
const PREVIEW: usize = 400;

pub(super) async fn begin(
    host: &mut ChatHost,
    title: &str,
    clear: bool,
) -> Result<Outcome, CommandError> {
    host.forget_approvals();
    let mut chat = host.chat(None).await?;
    if clear {
        let compact = host.context.config()?.bool("display.compact")?;
        let mut banner = super::greeting(host, compact);
        if !compact {
            banner.extend(host.facts());
        }
        chat.greeting.splice(0..0, banner);
    }
    host.pending_title = (!title.is_empty()).then(|| title.to_owned());
    Ok(Outcome::Switch(Switch {
        chat,
        ended: Some("new_session"),
        message: "A new session. The one before is kept: `/resume` lists it.".to_owned(),
        clear,
        then: Then::Nothing,
    }))
}

/// A new session with the tools that a verb has just changed.
pub(super) async fn begin_with_tools(
    host: &mut ChatHost,
    said: &str,
) -> Result<Outcome, CommandError> {
    let message = format!(
        "```\n{}\n```\n\nA new session begins with these tools.",
        said.trim_end()
    );
    match begin(host, "", false).await? {
        Outcome::Switch(switch) => Ok(Outcome::Switch(Switch { message, ..switch })),
        other => Ok(other),
    }
}

/// The nth of the list that `/resume` shows, when the reference is such a number.
async fn numbered(host: &ChatHost, reference: &str) -> Result<Option<SessionId>, CommandError> {
    let Some(at) = reference
        .parse::<usize>()
        .ok()
        .filter(|number| (1..=OFFERED).contains(number))
    else {
        return Ok(None);
    };
    let mut rows = recent(host).await?;
    Ok((at <= rows.len()).then(|| rows.swap_remove(at - 1).id))
}

async fn recent(host: &ChatHost) -> Result<Vec<ListedSession>, CommandError> {
    let filter = ListFilter {
        limit: OFFERED,
        order: ListOrder::LastActive,
        ..ListFilter::default()
    };
    Ok(host
        .state
        .run(move |database| database.list(&filter))
        .await?)
}

pub(super) async fn resume(host: &mut ChatHost, reference: &str) -> Result<Outcome, CommandError> {
    if reference.is_empty() {
        return pick(host).await;
    }
    let reference = match numbered(host, reference).await? {
        Some(id) => id.to_string(),
        None => reference.to_owned(),
    };
    let id = host
        .state
        .run(move |database| {
            let id = database.resolve(&reference)?;
            database.resume_target(&id)
        })
        .await?;
    if host.session().as_ref() == Some(&id) {
        return Ok(Outcome::Say("That is this session.".to_owned()));
    }
    host.forget_approvals();
    let chat = host.chat(Some(&id)).await?;
    host.pending_title = None;
    Ok(Outcome::Switch(Switch {
        chat,
        ended: Some("resumed_other"),
        message: format!("Going on with `{id}`."),
        clear: false,
        then: Then::Nothing,
    }))
}

pub(super) async fn pick(host: &ChatHost) -> Result<Outcome, CommandError> {
    let rows = recent(host).await?;
    if rows.is_empty() {
        return Ok(Outcome::Say("There is no stored session yet.".to_owned()));
    }
    let items = rows
        .into_iter()
        .map(|row| PickItem {
            label: row.title.unwrap_or(row.preview),
            detail: format!(
                "{} · {} message{} · {}",
                ago(row.last_active, &host.context.clock),
                row.message_count,
                if row.message_count == 1 { "" } else { "s" },
                row.id
            ),
            value: row.id.to_string(),
        })
        .collect();
    Ok(Outcome::Pick(Picker::new("Sessions", "resume", items)))
}

pub(super) async fn title(host: &mut ChatHost, text: &str) -> Result<Outcome, CommandError> {
    let Some(id) = host.session() else {
        return Ok(Outcome::Say("There is no session yet.".to_owned()));
    };
    let wanted = text.to_owned();
    let named = host
        .state
        .run(move |database| {
            let Some(row) = database.session(&id)? else {
                return Ok(None);
            };
            if wanted.is_empty() {
                return Ok(Some(row.title));
            }
            database.set_title(&id, &wanted).map(Some)
        })
        .await?;
    Ok(Outcome::Say(match named {
        None if text.is_empty() => match &host.pending_title {
            Some(title) => format!("This session will be called “{title}”."),
            None => "This session has no name yet.".to_owned(),
        },
        None => {
            host.pending_title = Some(text.to_owned());
            format!("The session will be called “{text}” when something is said in it.")
        }
        Some(Some(title)) => format!("This session is called “{title}”."),
        Some(None) => "This session has no name yet: `/title TEXT`.".to_owned(),
    }))
}

pub(super) async fn history(host: &ChatHost) -> Result<Outcome, CommandError> {
    let messages = match host.session() {
        Some(id) => {
            host.state
                .run(move |database| database.messages(&id))
                .await?
        }
        None => Vec::new(),
    };
    let mut text = String::new();
    let mut tools = 0;
    for stored in &messages {
        let said = stored.message.content.text();
        let label = match stored.message.role {
            Role::User => "● You",
            Role::Assistant if !said.trim().is_empty() => "◆ Hermes",
            Role::Tool => {
                tools += 1;
                continue;
            }
            _ => continue,
        };
        let mut cut: String = said.trim().chars().take(PREVIEW).collect();
        if cut.len() < said.trim().len() {
            cut.push('…');
        }
        text.push_str(&format!("{label}: {cut}\n\n"));
    }
    if text.is_empty() {
        return Ok(Outcome::Say("Nothing was said yet.".to_owned()));
    }
    if tools > 0 {
        let s = if tools == 1 { "" } else { "s" };
        text.push_str(&format!("({tools} tool result{s})\n"));
    }
    Ok(Outcome::Output(text))
}

/// Writes the whole session to a file that people and programs can read.
pub(super) async fn save(host: &ChatHost) -> Result<Outcome, CommandError> {
    let Some(id) = host.stored().await? else {
        return Ok(Outcome::Say("Nothing was said yet.".to_owned()));
    };
    let asked = id.clone();
    let exported = host
        .state
        .run(move |database| database.export(&asked))
        .await?
        .ok_or_else(|| CommandError::user("the session is gone"))?;
    let directory = host.context.home.join("sessions").join("saved");
    let time = host.context.clock.now_local().format("%Y%m%d_%H%M%S");
    let path = directory.join(format!("{id}_{time}.json"));
    std::fs::create_dir_all(&directory)?;
    hermes_home::write_atomic(
        &path,
        format!("{exported:#}\n").as_bytes(),
        host.context.policy().secret_file(),
    )?;
    Ok(Outcome::Say(format!("Written to `{}`.", path.display())))
}

/// Goes on in a copy; the session before stays as it is.
pub(super) async fn branch(host: &mut ChatHost, title: &str) -> Result<Outcome, CommandError> {
    let Some(id) = host.stored().await? else {
        return Ok(Outcome::Say(
            "There is nothing to branch off from yet.".to_owned(),
        ));
    };
    let title = title.to_owned();
    let child = host
        .state
        .run(move |database| {
            let title = match title.is_empty() {
                false => title,
                true => {
                    let row = database.session(&id)?;
                    let base = row.and_then(|row| row.title);
                    database.next_title(base.as_deref().unwrap_or("branch"))?
                }
            };
            database.branch(&id, &title)
        })
        .await?;
    let mut chat = host.chat(Some(&child)).await?;
    chat.greeting.clear();
    Ok(Outcome::Switch(Switch {
        chat,
        ended: Some("branched"),
        message: format!("This is a copy now (`{child}`); `/resume` leads back."),
        clear: false,
        then: Then::Nothing,
    }))
}

/// Takes back the last `count` questions and what followed them; the first of
/// them is returned.
async fn rewind(
    host: &mut ChatHost,
    count: usize,
) -> Result<Option<(SessionId, String)>, CommandError> {
    let Some(id) = host.session() else {
        return Ok(None);
    };
    let from = id.clone();
    let found = host
        .state
        .run(move |database| {
            let messages = database.messages(&from)?;
            let questions: Vec<&StoredMessage> = messages
                .iter()
                .filter(|stored| stored.message.role == Role::User)
                .collect();
            let Some(first) = questions.len().checked_sub(count).map(|at| questions[at]) else {
                return Ok(None);
            };
            database.rewind(&from, first.id)?;
            Ok(Some(first.message.content.text()))
        })
        .await?;
    Ok(found.map(|text| (id, text)))
}

pub(super) async fn undo(host: &mut ChatHost, count: &str) -> Result<Outcome, CommandError> {
    let count = match count {
        "" => 1,
        text => match text.parse::<usize>() {
            Ok(count) if count > 0 => count,
            _ => {
                return Ok(Outcome::Say(format!(
                    "`{text}` is no number of messages: `/undo 2` takes back two."
                )));
            }
        },
    };
    let Some((id, text)) = rewind(host, count).await? else {
        return Ok(Outcome::Say("There are not that many messages.".to_owned()));
    };
    again(
        host,
        &id,
        Then::Draft(text),
        "Taken back; your text is in the input.",
    )
    .await
}

pub(super) async fn retry(host: &mut ChatHost) -> Result<Outcome, CommandError> {
    let Some((id, text)) = rewind(host, 1).await? else {
        return Ok(Outcome::Say("There is nothing to send again.".to_owned()));
    };
    again(host, &id, Then::Send(text), "Once more.").await
}

/// The same session, read anew from the database.
pub(super) async fn again(
    host: &mut ChatHost,
    id: &SessionId,
    then: Then,
    message: &str,
) -> Result<Outcome, CommandError> {
    let mut chat = host.chat(Some(id)).await?;
    // It is on the screen already.
    chat.greeting.clear();
    Ok(Outcome::Switch(Switch {
        chat,
        ended: None,
        message: message.to_owned(),
        clear: false,
        then,
    }))
}
