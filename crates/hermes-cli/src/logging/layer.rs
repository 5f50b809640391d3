//! From tracing events to lines in files.

use std::fmt::{self, Write as _};
use std::sync::{Mutex, PoisonError};

use hermes_home::Clock;
use hermes_types::{Redaction, redact};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::line::{Component, Level, NewLine, logger_of};
use super::rotating_file::RotatingFile;

/// The span field that names the session all events inside belong to.
const SESSION: &str = "session";

/// One file and what goes into it.
#[derive(Debug)]
pub(crate) struct Sink {
    pub(crate) file: RotatingFile,
    pub(crate) least: Level,
    /// `None` takes every logger.
    pub(crate) component: Option<Component>,
}

/// Writes events to every file that wants them.
#[derive(Debug)]
pub struct FileLayer {
    sinks: Mutex<Vec<Sink>>,
    clock: Clock,
    redact: bool,
}

impl FileLayer {
    pub(crate) fn new(sinks: Vec<Sink>, clock: Clock, redact: bool) -> Self {
        Self {
            sinks: Mutex::new(sinks),
            clock,
            redact,
        }
    }
}

struct SessionOfSpan(String);

impl<S> Layer<S> for FileLayer
where
    S: Subscriber + for<'lookup> LookupSpan<'lookup>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut session = FieldText {
            name: SESSION,
            text: None,
        };
        attributes.record(&mut session);
        if let (Some(text), Some(span)) = (session.text, context.span(id)) {
            span.extensions_mut().insert(SessionOfSpan(text));
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let level = Level::from(*event.metadata().level());
        let logger = logger_of(event.metadata().target());
        let mut text = EventText::default();
        event.record(&mut text);
        let message = text.finish();
        let message = if self.redact {
            redact(&message, Redaction::Text)
        } else {
            message.into()
        };
        let session = context.event_scope(event).and_then(|scope| {
            scope.into_iter().find_map(|span| {
                span.extensions()
                    .get::<SessionOfSpan>()
                    .map(|session| session.0.clone())
            })
        });
        let line = NewLine {
            time: self.clock.now_local(),
            level,
            session: session.as_deref(),
            logger: &logger,
            message: &message,
        }
        .to_string();
        // A panic while logging elsewhere must not silence the log.
        let mut sinks = self.sinks.lock().unwrap_or_else(PoisonError::into_inner);
        for sink in sinks.iter_mut() {
            let wanted = sink
                .component
                .is_none_or(|component| component.covers(&logger));
            if level >= sink.least && wanted {
                // Nobody can be told; the command goes on.
                let _ = sink.file.write_line(&line);
            }
        }
    }
}

/// The text of one field, if it is there.
struct FieldText {
    name: &'static str,
    text: Option<String>,
}

impl Visit for FieldText {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == self.name {
            self.text = Some(value.to_owned());
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == self.name {
            self.text = Some(format!("{value:?}"));
        }
    }
}

/// The message, then the other fields as `name=value`.
#[derive(Default)]
struct EventText {
    message: String,
    fields: String,
}

impl EventText {
    fn finish(mut self) -> String {
        if self.message.is_empty() {
            self.fields.trim_start().to_owned()
        } else {
            self.message.push_str(&self.fields);
            self.message
        }
    }
}

/// Values come from anywhere, file names of other hosts among them: none may end the
/// line and begin one that looks like ours.
struct OneLine<'t>(&'t mut String);

impl fmt::Write for OneLine<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            match c.is_control() && c != '\t' {
                true => self.0.extend(c.escape_default()),
                false => self.0.push(c),
            }
        }
        Ok(())
    }
}

impl Visit for EventText {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.message.push_str(value);
        } else {
            let _ = write!(OneLine(&mut self.fields), " {}={value}", field.name());
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            let _ = write!(self.message, "{value:?}");
        } else {
            let _ = write!(OneLine(&mut self.fields), " {}={value:?}", field.name());
        }
    }
}
