//! Blocks: paragraphs, headings, lists, quotes, code, tables, rules.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::Page;
use super::inline::Inline;
use super::table::Table;
use super::wrap::wrap;

pub(super) fn parser(text: &str) -> Parser<'_> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    Parser::new_ext(text, options)
}

pub(super) fn render(text: &str, page: &Page) -> Vec<Line<'static>> {
    let mut renderer = Renderer::new(page);
    for event in parser(text) {
        renderer.event(event);
    }
    renderer.flush_text();
    let mut lines = renderer.lines;
    // A block without text left only its gap behind.
    while lines.last().is_some_and(is_blank) {
        lines.pop();
    }
    lines
}

fn is_blank(line: &Line<'_>) -> bool {
    line.spans.iter().all(|span| span.content.trim().is_empty())
}

/// What surrounds the text at this point, outermost first.
enum Frame {
    Quote,
    /// The next number, for ordered lists.
    List(Option<u64>),
    /// The bullet, until its first line is written.
    Item {
        marker: Option<String>,
        width: usize,
    },
}

struct Renderer<'p> {
    page: &'p Page,
    lines: Vec<Line<'static>>,
    frames: Vec<Frame>,
    inline: Inline,
    code: Option<(String, String)>,
    table: Option<Table>,
    heading: bool,
    /// Whether an empty line must come before the next block.
    separate: bool,
}

impl<'p> Renderer<'p> {
    fn new(page: &'p Page) -> Self {
        Self {
            page,
            lines: Vec::new(),
            frames: Vec::new(),
            inline: Inline::new(page.theme, Style::new()),
            code: None,
            table: None,
            heading: false,
            separate: false,
        }
    }

    fn event(&mut self, event: Event<'_>) {
        if let Some((_, code)) = &mut self.code
            && let Event::Text(text) = &event
        {
            code.push_str(text);
            return;
        }
        if self.inline.event(&event) {
            return;
        }
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Rule => {
                self.gap();
                let width = self.page.text_width().saturating_sub(self.indent()).min(40);
                self.put(&[Span::styled("─".repeat(width), self.page.theme.dim)]);
                self.separate = true;
            }
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.gap(),
            Tag::Heading { .. } => {
                self.gap();
                self.heading = true;
                self.inline = Inline::new(self.page.theme, self.page.theme.heading);
            }
            Tag::BlockQuote(_) => {
                self.gap();
                self.frames.push(Frame::Quote);
            }
            Tag::CodeBlock(kind) => {
                self.flush_text();
                self.gap();
                let language = match kind {
                    CodeBlockKind::Fenced(info) => {
                        info.split([' ', ',']).next().unwrap_or("").to_owned()
                    }
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::List(first) => {
                self.flush_text();
                if self
                    .frames
                    .iter()
                    .all(|frame| !matches!(frame, Frame::Item { .. }))
                {
                    self.gap();
                }
                self.separate = false;
                self.frames.push(Frame::List(first));
            }
            Tag::Item => {
                let marker = match self.frames.last_mut() {
                    Some(Frame::List(Some(number))) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_owned(),
                };
                let width = marker.chars().count();
                self.frames.push(Frame::Item {
                    marker: Some(marker),
                    width,
                });
                self.separate = false;
            }
            Tag::Table(alignments) => {
                self.gap();
                self.table = Some(Table {
                    alignments,
                    rows: Vec::new(),
                });
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => {
                self.flush_text();
                self.separate = true;
            }
            TagEnd::Heading(_) => {
                self.flush_text();
                self.heading = false;
                self.inline = Inline::new(self.page.theme, Style::new());
                self.separate = true;
            }
            TagEnd::BlockQuote(_) => {
                self.flush_text();
                self.frames.pop();
                self.separate = true;
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.frames.pop();
                self.separate = !self
                    .frames
                    .iter()
                    .any(|frame| matches!(frame, Frame::Item { .. }));
            }
            TagEnd::Item => {
                self.flush_text();
                // An item without text still shows its bullet.
                if matches!(
                    self.frames.last(),
                    Some(Frame::Item {
                        marker: Some(_),
                        ..
                    })
                ) {
                    self.put(&[]);
                }
                self.frames.pop();
            }
            TagEnd::TableCell => {
                let cell = self.inline.take();
                if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    let width = self.page.text_width().saturating_sub(self.indent());
                    for line in table.render(width, self.page.theme) {
                        self.put_unwrapped(line.spans, line.style);
                    }
                }
                self.separate = true;
            }
            _ => {}
        }
    }

    fn end_code(&mut self) {
        let Some((language, code)) = self.code.take() else {
            return;
        };
        let highlighted = match self.page.theme.highlight {
            true => self.page.highlighter.lines(&language, &code),
            false => None,
        };
        let lines = highlighted.unwrap_or_else(|| {
            code.lines()
                .map(|line| vec![Span::styled(line.to_owned(), self.page.theme.code)])
                .collect()
        });
        for line in lines {
            let (mut first, mut rest) = self.prefixes(true);
            first.push(Span::raw("  "));
            rest.push(Span::raw("  "));
            self.lines
                .extend(wrap(&line, self.page.text_width(), &first, &rest));
        }
        self.separate = true;
    }

    fn flush_text(&mut self) {
        if !self.inline.is_empty() {
            let spans = self.inline.take();
            self.put(&spans);
        }
    }

    fn gap(&mut self) {
        self.flush_text();
        if self.separate && self.lines.last().is_some_and(|line| !is_blank(line)) {
            let (first, _) = self.prefixes(false);
            self.lines.push(Line::from(first));
            self.separate = false;
        }
    }

    fn put(&mut self, spans: &[Span<'static>]) {
        let (first, rest) = self.prefixes(true);
        let width = self.page.text_width();
        self.lines.extend(wrap(spans, width, &first, &rest));
    }

    fn put_unwrapped(&mut self, spans: Vec<Span<'static>>, style: Style) {
        let (mut all, _) = self.prefixes(true);
        all.extend(spans.into_iter().map(|span| span.patch_style(style)));
        self.lines.push(Line::from(all));
    }

    /// What stands before the first and before further lines of a block.
    fn prefixes(&mut self, use_marker: bool) -> (Vec<Span<'static>>, Vec<Span<'static>>) {
        let theme = self.page.theme;
        let (mut first, mut rest) = (Vec::new(), Vec::new());
        for frame in &mut self.frames {
            match frame {
                Frame::Quote => {
                    let bar = Span::styled("│ ", theme.dim);
                    first.push(bar.clone());
                    rest.push(bar);
                }
                Frame::Item { marker, width } => {
                    let blank = Span::raw(" ".repeat(*width));
                    first.push(match marker.take_if(|_| use_marker) {
                        Some(marker) => Span::styled(marker, theme.dim),
                        None => blank.clone(),
                    });
                    rest.push(blank);
                }
                Frame::List(_) => {}
            }
        }
        (first, rest)
    }

    fn indent(&self) -> usize {
        let columns = |frame: &Frame| match frame {
            Frame::Quote => 2,
            Frame::Item { width, .. } => *width,
            Frame::List(_) => 0,
        };
        self.frames.iter().map(columns).sum()
    }
}
