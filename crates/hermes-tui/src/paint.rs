//! Putting lines on a terminal: finished ones scroll away for good, a live area
//! at the bottom is painted over. No alternate screen, so the scrollback stays
//! the terminal's own.

use std::fmt::Write as _;
use std::io::{self, Write};

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;

use crate::markdown::display_width;

/// What is painted over with every frame.
#[derive(Clone, Debug, Default)]
pub struct Live {
    pub lines: Vec<Line<'static>>,
    /// Row and column of the cursor within the lines; hidden when absent.
    pub cursor: Option<(usize, usize)>,
}

pub struct Painter<W: Write> {
    out: W,
    width: usize,
    /// The widths of the live lines that are on the screen now.
    shown: Vec<usize>,
    /// The row of the live area that the terminal's cursor is on, and its column.
    row: usize,
    column: usize,
}

const SYNC_BEGIN: &str = "\x1b[?2026h";
/// Erases from here to the end of the screen. Not from the first column: at the top
/// of the screen tmux takes that for emptying it, and keeps what was there in the
/// scrollback, with every frame.
const ERASE: &str = "\x1b[2K\x1b[C\x1b[J\r";
const SYNC_END: &str = "\x1b[?2026l";

impl<W: Write> Painter<W> {
    pub fn new(out: W, width: usize) -> Self {
        Self {
            out,
            width: width.max(1),
            shown: Vec::new(),
            row: 0,
            column: 0,
        }
    }

    /// After a resize the terminal has broken the old lines anew.
    pub fn set_width(&mut self, width: usize) {
        let width = width.max(1);
        // Rows above the cursor, counted as the terminal shows them now.
        let above: usize = self
            .shown
            .iter()
            .take(self.row)
            .map(|w| w.div_ceil(width).max(1))
            .sum();
        self.row = above + self.column / width;
        self.width = width;
    }

    /// Prints finished lines above the live area and paints that anew, in one go.
    pub fn frame(&mut self, finished: &[Line<'static>], live: &Live) -> io::Result<()> {
        let mut text = String::from(SYNC_BEGIN);
        text.push_str("\x1b[?25l\r");
        if self.row > 0 {
            let _ = write!(text, "\x1b[{}A", self.row);
        }
        text.push_str(ERASE);
        for line in finished {
            text.push_str(&ansi(line));
            text.push_str("\r\n");
        }
        self.shown.clear();
        for (index, line) in live.lines.iter().enumerate() {
            if index > 0 {
                text.push_str("\r\n");
            }
            text.push_str(&ansi(line));
            self.shown.push(display_width(&plain(line)));
        }
        self.row = live.lines.len().saturating_sub(1);
        self.column = self.shown.last().copied().unwrap_or(0);
        if let Some((row, column)) = live.cursor {
            let up = self.row.saturating_sub(row);
            if up > 0 {
                let _ = write!(text, "\x1b[{up}A");
            }
            text.push('\r');
            if column > 0 {
                let _ = write!(text, "\x1b[{column}C");
            }
            text.push_str("\x1b[?25h");
            self.row = row.min(self.row);
            self.column = column;
        }
        text.push_str(SYNC_END);
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }

    /// Bytes that are no text: a clipboard sequence, a bell.
    pub fn raw(&mut self, bytes: &str) -> io::Result<()> {
        self.out.write_all(bytes.as_bytes())?;
        self.out.flush()
    }

    /// Empties the screen; the scrollback stays.
    pub fn clear(&mut self) -> io::Result<()> {
        self.shown.clear();
        self.row = 0;
        self.column = 0;
        self.raw("\x1b[H\x1b[2J")
    }

    /// Leaves the finished lines and takes the live area away.
    pub fn finish(&mut self) -> io::Result<()> {
        self.frame(&[], &Live::default())?;
        self.raw("\x1b[?25h")
    }
}

fn plain(line: &Line<'_>) -> String {
    line.spans
        .iter()
        .map(|span| span.content.as_ref())
        .collect()
}

/// The line with its styles as escape sequences; control characters of the text
/// itself are dropped, so that nothing a model writes can move the cursor.
pub fn ansi(line: &Line<'_>) -> String {
    let mut out = String::new();
    for span in &line.spans {
        let style = line.style.patch(span.style);
        let codes = codes(style);
        if !codes.is_empty() {
            let _ = write!(out, "\x1b[{}m", codes.join(";"));
        }
        for c in span.content.chars() {
            match c {
                '\t' => out.push_str("    "),
                c if c.is_control() => {}
                c => out.push(c),
            }
        }
        if !codes.is_empty() {
            out.push_str("\x1b[0m");
        }
    }
    out
}

fn codes(style: Style) -> Vec<String> {
    let mut codes = Vec::new();
    for (modifier, code) in [
        (Modifier::BOLD, "1"),
        (Modifier::DIM, "2"),
        (Modifier::ITALIC, "3"),
        (Modifier::UNDERLINED, "4"),
        (Modifier::REVERSED, "7"),
        (Modifier::CROSSED_OUT, "9"),
    ] {
        if style.add_modifier.contains(modifier) {
            codes.push(code.to_owned());
        }
    }
    if let Some(colour) = style.fg {
        codes.extend(colour_code(colour));
    }
    codes
}

fn colour_code(colour: Color) -> Option<String> {
    Some(match colour {
        Color::Black => "30".into(),
        Color::Red => "31".into(),
        Color::Green => "32".into(),
        Color::Yellow => "33".into(),
        Color::Blue => "34".into(),
        Color::Magenta => "35".into(),
        Color::Cyan => "36".into(),
        Color::Gray => "37".into(),
        Color::DarkGray => "90".into(),
        Color::Rgb(r, g, b) => format!("38;2;{r};{g};{b}"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn screen(painter: &mut Painter<Vec<u8>>, rows: u16, columns: u16) -> Vec<String> {
        let mut parser =
            vt100::Parser::new(rows.try_into().unwrap(), columns.try_into().unwrap(), 0);
        parser.process(&painter.out);
        parser
            .screen()
            .rows(0, columns)
            .map(|row| row.trim_end().to_owned())
            .collect()
    }

    fn live(lines: &[&str], cursor: Option<(usize, usize)>) -> Live {
        Live {
            lines: lines.iter().map(|l| Line::from((*l).to_owned())).collect(),
            cursor,
        }
    }

    #[test]
    fn finished_lines_stay_and_the_live_area_is_painted_over() {
        let mut painter = Painter::new(Vec::new(), 20);
        painter
            .frame(&[], &live(&["> one", "status"], Some((0, 5))))
            .unwrap();
        painter
            .frame(
                &[Line::from("first")],
                &live(&["> two", "more", "status"], Some((1, 4))),
            )
            .unwrap();
        painter
            .frame(&[Line::from("second")], &live(&[">"], Some((0, 1))))
            .unwrap();
        assert_eq!(
            screen(&mut painter, 5, 20),
            ["first", "second", ">", "", ""]
        );
    }

    #[test]
    fn the_top_of_the_screen_is_never_emptied_as_a_whole() {
        let mut painter = Painter::new(Vec::new(), 20);
        for _ in 0..2 {
            painter
                .frame(&[], &live(&["> one", "status"], Some((0, 5))))
                .unwrap();
        }
        let written = String::from_utf8(painter.out).unwrap();
        assert!(!written.contains("\r\x1b[J"), "{written:?}");
    }

    #[test]
    fn a_cursor_far_to_the_right_is_rows_below_after_a_resize() {
        let mut painter = Painter::new(Vec::new(), 20);
        let wide = "w".repeat(19);
        painter
            .frame(&[], &live(&["status", &wide], Some((1, 19))))
            .unwrap();
        painter.set_width(10);
        assert_eq!(painter.row, 2);
    }

    #[test]
    fn control_characters_of_the_text_do_nothing() {
        assert_eq!(
            ansi(&Line::from("a\x1b[2Jb\r\x07c\td".to_owned())),
            "a[2Jbc    d"
        );
    }

    #[test]
    fn the_screen_is_clean_after_the_end() {
        let mut painter = Painter::new(Vec::new(), 20);
        painter
            .frame(&[Line::from("kept")], &live(&["a", "b"], None))
            .unwrap();
        painter.finish().unwrap();
        assert_eq!(screen(&mut painter, 3, 20), ["kept", "", ""]);
    }
}
