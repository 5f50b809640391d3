//! Text to graph. The event parser is libyaml in safe Rust; it is known to panic on
//! a few malformed inputs, so it runs behind a guard that turns a panic into a
//! syntax error.

use std::cell::Cell;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use libyaml_safer::{
    Encoding, Error, EventData, MappingStyle, Mark, Parser, ScalarStyle, SequenceStyle,
};
use serde_json::Value;

use super::construct;
use super::graph::{Document, Kind, Node, NodeId, Slot};

/// Deeper nesting than this is refused instead of risking the stack.
const MAX_DEPTH: usize = 128;

/// What is wrong with a text, and where (both counted from one).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Syntax {
    pub line: usize,
    pub column: usize,
    pub reason: String,
}

impl Syntax {
    pub(crate) fn at(line: usize, column: usize, reason: impl Into<String>) -> Self {
        Self {
            line,
            column,
            reason: reason.into(),
        }
    }
}

impl Document {
    /// The document as JSON; null when it is empty.
    pub fn value(&self) -> Result<Value, Syntax> {
        construct::value(self)
    }
}

/// Reads one document.
pub fn parse(text: &str) -> Result<Document, Syntax> {
    let (body, shift) = match text.strip_prefix('\u{feff}') {
        Some(rest) => (rest, '\u{feff}'.len_utf8()),
        None => (text, 0),
    };
    // A block scalar that ends the input without a line break panics the parser.
    let ended;
    let complete = body.ends_with('\n');
    let body = if complete {
        body
    } else {
        ended = format!("{body}\n");
        &ended
    };
    guarded(|| {
        let mut composer = Composer::new(body, shift, text.len());
        composer.break_added = !complete;
        composer.document()
    })
}

thread_local! {
    static PARSING: Cell<bool> = const { Cell::new(false) };
}

/// Runs the parser; a panic inside it is a syntax error and prints nothing.
fn guarded(run: impl FnOnce() -> Result<Document, Syntax>) -> Result<Document, Syntax> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !PARSING.with(Cell::get) {
                before(info);
            }
        }));
    });
    PARSING.with(|flag| flag.set(true));
    let outcome = catch_unwind(AssertUnwindSafe(run));
    PARSING.with(|flag| flag.set(false));
    outcome.unwrap_or_else(|_| Err(Syntax::at(1, 1, "the text is not valid YAML")))
}

struct Composer<'a> {
    parser: Parser<&'a [u8]>,
    nodes: Vec<Node>,
    /// `None` while the anchored node is still open.
    anchors: HashMap<String, Option<NodeId>>,
    shift: usize,
    length: usize,
    text: &'a str,
    /// The last line break of `text` is ours.
    break_added: bool,
}

impl<'a> Composer<'a> {
    fn new(text: &'a str, shift: usize, length: usize) -> Self {
        let mut parser = Parser::new();
        parser.set_encoding(Encoding::Utf8);
        parser.set_input(text.as_bytes());
        Self {
            parser,
            nodes: Vec::new(),
            anchors: HashMap::new(),
            shift,
            length,
            text,
            break_added: false,
        }
    }

    fn document(mut self) -> Result<Document, Syntax> {
        let mut root = None;
        loop {
            let (data, start, end) = self.next()?;
            match data {
                EventData::StreamEnd => break,
                EventData::StreamStart { .. } | EventData::DocumentEnd { .. } => {}
                EventData::DocumentStart { .. } => {
                    if root.is_some() {
                        return Err(problem(start, "a second document starts here"));
                    }
                }
                other => root = Some(self.node(other, start, end, 0)?),
            }
        }
        Ok(Document {
            nodes: self.nodes,
            root,
        })
    }

    fn next(&mut self) -> Result<(EventData, Mark, Mark), Syntax> {
        match self.parser.parse() {
            Ok(event) => Ok((event.data, event.start_mark, event.end_mark)),
            Err(error) => Err(self.syntax(&error)),
        }
    }

    fn syntax(&self, error: &Error) -> Syntax {
        let reason = match error.context() {
            Some(context) => format!("{} {}", error.problem(), context),
            None => error.problem().to_owned(),
        };
        match error.problem_mark() {
            Some(mark) => problem(mark, reason),
            None => {
                // The reader gives no position; its only complaint about valid
                // UTF-8 is a control character.
                let at = self
                    .text
                    .char_indices()
                    .find(|(_, c)| is_refused_control(*c))
                    .map_or(0, |(at, _)| at);
                let before = &self.text[..at];
                let line = before.matches('\n').count() + 1;
                let column = before
                    .rsplit('\n')
                    .next()
                    .map_or(0, |tail| tail.chars().count())
                    + 1;
                Syntax::at(line, column, reason)
            }
        }
    }

    fn node(
        &mut self,
        data: EventData,
        start: Mark,
        end: Mark,
        depth: usize,
    ) -> Result<Slot, Syntax> {
        if depth > MAX_DEPTH {
            return Err(problem(start, "nested too deeply"));
        }
        let from = self.offset(start);
        match data {
            EventData::Alias { anchor } => match self.anchors.get(&anchor) {
                Some(Some(node)) => Ok(Slot {
                    node: *node,
                    span: from..self.offset(end),
                    alias: true,
                }),
                Some(None) => Err(problem(start, format!("`*{anchor}` contains itself"))),
                None => Err(problem(
                    start,
                    format!("`*{anchor}` has no anchor before it"),
                )),
            },
            EventData::Scalar {
                anchor,
                tag,
                mut value,
                style,
                ..
            } => {
                let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                if block && value.ends_with('\n') && self.ends_with_added_break(end) {
                    value.pop();
                }
                let kind = Kind::Scalar {
                    text: value,
                    plain: style == ScalarStyle::Plain,
                    block,
                };
                let slot = self.open(kind, tag, anchor.as_deref(), start);
                self.close(slot, anchor, from..self.offset(end))
            }
            EventData::SequenceStart {
                anchor, tag, style, ..
            } => {
                let flow = style == SequenceStyle::Flow;
                let items = Vec::new();
                let node = self.open(
                    Kind::Sequence { items, flow },
                    tag,
                    anchor.as_deref(),
                    start,
                );
                let mut items = Vec::new();
                let mut until = self.offset(end);
                loop {
                    let (data, start, end) = self.next()?;
                    if data == EventData::SequenceEnd {
                        if flow {
                            until = self.offset(end);
                        }
                        break;
                    }
                    let item = self.node(data, start, end, depth + 1)?;
                    until = until.max(item.span.end);
                    items.push(item);
                }
                self.nodes[node].kind = Kind::Sequence { items, flow };
                self.close(node, anchor, from..until)
            }
            EventData::MappingStart {
                anchor, tag, style, ..
            } => {
                let flow = style == MappingStyle::Flow;
                let pairs = Vec::new();
                let node = self.open(Kind::Mapping { pairs, flow }, tag, anchor.as_deref(), start);
                let mut pairs = Vec::new();
                let mut until = self.offset(end);
                loop {
                    let (data, start, end) = self.next()?;
                    if data == EventData::MappingEnd {
                        if flow {
                            until = self.offset(end);
                        }
                        break;
                    }
                    let key = self.node(data, start, end, depth + 1)?;
                    let (data, start, end) = self.next()?;
                    let value = self.node(data, start, end, depth + 1)?;
                    until = until.max(key.span.end).max(value.span.end);
                    pairs.push((key, value));
                }
                self.nodes[node].kind = Kind::Mapping { pairs, flow };
                self.close(node, anchor, from..until)
            }
            _ => Err(problem(start, "unexpected end of the document")),
        }
    }

    /// Whether a block scalar's final line break is the one that we added.
    fn ends_with_added_break(&self, end: Mark) -> bool {
        let last_line = self.text.trim_end_matches('\n').rsplit('\n').next();
        self.break_added
            && end.index as usize >= self.text.len()
            && last_line.is_some_and(|line| !line.trim().is_empty() && !self.text.ends_with("\n\n"))
    }

    fn open(
        &mut self,
        kind: Kind,
        tag: Option<String>,
        anchor: Option<&str>,
        start: Mark,
    ) -> NodeId {
        if let Some(name) = anchor {
            self.anchors.insert(name.to_owned(), None);
        }
        self.nodes.push(Node {
            kind,
            tag,
            line: start.line as usize + 1,
            column: start.column as usize,
        });
        self.nodes.len() - 1
    }

    fn close(
        &mut self,
        node: NodeId,
        anchor: Option<String>,
        span: std::ops::Range<usize>,
    ) -> Result<Slot, Syntax> {
        if let Some(name) = anchor {
            self.anchors.insert(name, Some(node));
        }
        Ok(Slot {
            node,
            span,
            alias: false,
        })
    }

    /// Byte offset in the caller's text, which may have a byte order mark in front
    /// and no line break at its end.
    fn offset(&self, mark: Mark) -> usize {
        (mark.index as usize + self.shift).min(self.length)
    }
}

fn is_refused_control(c: char) -> bool {
    !matches!(c,
        '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{d7ff}'
        | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

fn problem(mark: Mark, reason: impl Into<String>) -> Syntax {
    Syntax::at(mark.line as usize + 1, mark.column as usize + 1, reason)
}
