//! The input line, of one row or many. Pure: keys become edits elsewhere.

use unicode_segmentation::UnicodeSegmentation;

use crate::markdown::display_width;

/// Text with a cursor. Positions are byte offsets on grapheme boundaries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Editor {
    text: String,
    cursor: usize,
    /// The column that up and down try to keep.
    goal: Option<usize>,
}

/// The text as rows of a width, and where the cursor stands in them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    pub rows: Vec<String>,
    pub cursor: (usize, usize),
}

impl Editor {
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub fn cursor(&self) -> usize {
        self.cursor
    }

    pub fn set(&mut self, text: impl Into<String>) {
        self.text = text.into();
        self.cursor = self.text.len();
        self.goal = None;
    }

    pub fn take(&mut self) -> String {
        self.cursor = 0;
        self.goal = None;
        std::mem::take(&mut self.text)
    }

    pub fn insert(&mut self, text: &str) {
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
        self.goal = None;
    }

    /// Puts `text` in the place of the bytes from `start` to the cursor.
    pub fn replace_from(&mut self, start: usize, text: &str) {
        self.text.replace_range(start..self.cursor, text);
        self.cursor = start + text.len();
        self.goal = None;
    }

    pub fn backspace(&mut self) {
        let start = self.before();
        self.cut(start, self.cursor);
    }

    pub fn delete(&mut self) {
        let end = self.after();
        self.cut(self.cursor, end);
    }

    pub fn left(&mut self) {
        self.move_to(self.before());
    }

    pub fn right(&mut self) {
        self.move_to(self.after());
    }

    pub fn home(&mut self) {
        let start = self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1);
        self.move_to(start);
    }

    pub fn end(&mut self) {
        self.move_to(self.line_end());
    }

    pub fn word_left(&mut self) {
        let before = &self.text[..self.cursor];
        let start = before
            .split_word_bound_indices()
            .rev()
            .find(|(_, word)| !word.trim().is_empty());
        self.move_to(start.map_or(0, |(at, _)| at));
    }

    pub fn word_right(&mut self) {
        let after = &self.text[self.cursor..];
        let word = after
            .split_word_bound_indices()
            .find(|(_, word)| !word.trim().is_empty());
        self.move_to(word.map_or(self.text.len(), |(at, word)| self.cursor + at + word.len()));
    }

    pub fn delete_word(&mut self) {
        let end = self.cursor;
        self.word_left();
        self.cut(self.cursor, end);
    }

    pub fn delete_to_end(&mut self) {
        let end = self.line_end();
        self.cut(self.cursor, end);
    }

    pub fn delete_to_start(&mut self) {
        let end = self.cursor;
        self.home();
        self.cut(self.cursor, end);
    }

    /// `false` when the cursor is on the first line already.
    pub fn up(&mut self) -> bool {
        let start = self.text[..self.cursor].rfind('\n').map(|at| at + 1);
        let Some(start) = start else { return false };
        let column = self
            .goal
            .unwrap_or_else(|| display_width(&self.text[start..self.cursor]));
        let previous = self.text[..start - 1].rfind('\n').map_or(0, |at| at + 1);
        self.cursor = self.at_column(previous, start - 1, column);
        self.goal = Some(column);
        true
    }

    /// `false` when the cursor is on the last line already.
    pub fn down(&mut self) -> bool {
        let end = self.line_end();
        if end == self.text.len() {
            return false;
        }
        let start = self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1);
        let column = self
            .goal
            .unwrap_or_else(|| display_width(&self.text[start..self.cursor]));
        let next_end = self.text[end + 1..]
            .find('\n')
            .map_or(self.text.len(), |at| end + 1 + at);
        self.cursor = self.at_column(end + 1, next_end, column);
        self.goal = Some(column);
        true
    }

    /// Breaks the text into rows of at most `width` columns: between words, and
    /// inside words that are wider than a row.
    pub fn layout(&self, width: usize) -> Layout {
        let width = width.max(2);
        let mut rows = Rows::new(width);
        for (at, grapheme) in self.text.grapheme_indices(true) {
            if grapheme == "\n" {
                if at == self.cursor {
                    rows.mark();
                }
                rows.next();
                continue;
            }
            let shown = if grapheme == "\t" { "    " } else { grapheme };
            rows.make_room_for(shown);
            if at == self.cursor {
                rows.mark();
            }
            rows.push(shown);
        }
        if self.cursor == self.text.len() {
            if rows.used >= width {
                rows.next();
            }
            rows.mark();
        }
        Layout {
            rows: rows.rows,
            cursor: rows.cursor,
        }
    }

    fn cut(&mut self, start: usize, end: usize) {
        self.text.replace_range(start..end, "");
        self.cursor = start;
        self.goal = None;
    }

    fn move_to(&mut self, at: usize) {
        self.cursor = at;
        self.goal = None;
    }

    fn before(&self) -> usize {
        let mut graphemes = self.text[..self.cursor].grapheme_indices(true);
        graphemes.next_back().map_or(0, |(at, _)| at)
    }

    fn after(&self) -> usize {
        let next = self.text[self.cursor..].graphemes(true).next();
        self.cursor + next.map_or(0, str::len)
    }

    fn line_end(&self) -> usize {
        self.text[self.cursor..]
            .find('\n')
            .map_or(self.text.len(), |at| self.cursor + at)
    }

    fn at_column(&self, start: usize, end: usize, column: usize) -> usize {
        let mut used = 0;
        for (at, grapheme) in self.text[start..end].grapheme_indices(true) {
            if used >= column {
                return start + at;
            }
            used += display_width(grapheme);
        }
        end
    }
}

/// Rows under way.
struct Rows {
    width: usize,
    rows: Vec<String>,
    /// Columns of the last row.
    used: usize,
    /// Bytes and columns of the last row up to where it may be broken.
    may_break: (usize, usize),
    cursor: (usize, usize),
}

impl Rows {
    fn new(width: usize) -> Self {
        Self {
            width,
            rows: vec![String::new()],
            used: 0,
            may_break: (0, 0),
            cursor: (0, 0),
        }
    }

    /// The cursor stands at the end of what is there.
    fn mark(&mut self) {
        self.cursor = (self.rows.len() - 1, self.used);
    }

    fn next(&mut self) {
        self.rows.push(String::new());
        self.used = 0;
        self.may_break = (0, 0);
    }

    fn make_room_for(&mut self, shown: &str) {
        if self.used + display_width(shown) <= self.width {
            return;
        }
        let (bytes, columns) = self.may_break;
        if columns == 0 || columns == self.used {
            return self.next();
        }
        // The word that began in this row goes on in the next, whole.
        let last = self.rows.len() - 1;
        let word = self.rows[last].split_off(bytes);
        if self.cursor.0 == last && self.cursor.1 >= columns {
            self.cursor = (last + 1, self.cursor.1 - columns);
        }
        let used = self.used - columns;
        self.next();
        self.used = used;
        self.rows[last + 1] = word;
    }

    fn push(&mut self, shown: &str) {
        let columns = display_width(shown);
        self.used += columns;
        if let Some(row) = self.rows.last_mut() {
            row.push_str(shown);
            if shown.trim().is_empty() || columns > 1 {
                self.may_break = (row.len(), self.used);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn editor(text: &str) -> Editor {
        let mut editor = Editor::default();
        editor.insert(text);
        editor
    }

    #[test]
    fn graphemes_are_removed_whole() {
        let mut e = editor("a👨‍👩‍👧é");
        e.backspace();
        assert_eq!(e.text(), "a👨‍👩‍👧");
        e.backspace();
        assert_eq!(e.text(), "a");
    }

    #[test]
    fn up_and_down_keep_the_column() {
        let mut e = editor("abcdef\nxy\n123456");
        assert!(e.up() && e.up());
        assert_eq!(e.cursor(), 6);
        assert!(!e.up());
        assert!(e.down() && e.down() && !e.down());
        assert_eq!(e.cursor(), e.text().len());
    }

    #[test]
    fn words_and_lines_are_cut() {
        let mut e = editor("one two three");
        e.delete_word();
        assert_eq!(e.text(), "one two ");
        e.home();
        e.word_right();
        e.delete_to_end();
        assert_eq!(e.text(), "one");
    }

    #[test]
    fn rows_break_between_words_and_the_cursor_goes_along() {
        let mut e = editor("one two three");
        assert_eq!(e.layout(9).rows, ["one two ", "three"]);
        assert_eq!(e.layout(9).cursor, (1, 5));
        // The word that is moved takes a cursor inside it along.
        e.left();
        e.left();
        assert_eq!(e.layout(10).cursor, (1, 3));
        assert_eq!(editor("abcdefgh i").layout(4).rows, ["abcd", "efgh", " i"]);
    }

    #[test]
    fn wide_text_wraps_and_the_cursor_follows() {
        let layout = editor("漢字漢").layout(4);
        assert_eq!(
            layout,
            Layout {
                rows: vec!["漢字".into(), "漢".into()],
                cursor: (1, 2)
            }
        );
        assert_eq!(editor("abcd").layout(4).cursor, (1, 0));
    }

    proptest! {
        #[test]
        fn any_edits_keep_the_cursor_inside(steps in prop::collection::vec(0_u8..14, 0..60), text in "(\\PC|\n){0,20}") {
            let mut e = editor(&text);
            for step in steps {
                match step {
                    0 => e.left(), 1 => e.right(), 2 => e.backspace(), 3 => e.delete(),
                    4 => { e.up(); } 5 => { e.down(); } 6 => e.home(), 7 => e.end(),
                    8 => e.word_left(), 9 => e.word_right(), 10 => e.delete_word(),
                    11 => e.delete_to_end(), 12 => e.insert("é\n漢"), _ => e.delete_to_start(),
                }
                prop_assert!(e.text().is_char_boundary(e.cursor()));
                let layout = e.layout(7);
                prop_assert!(layout.cursor.0 < layout.rows.len() && layout.cursor.1 <= 7);
            }
        }
    }
}
