//! Colours for source code. The grammars take tens of milliseconds to load, so
//! that happens on a thread of its own the first time code appears; until then
//! code is shown plain.

use std::sync::{Arc, OnceLock};

use ratatui::style::{Color, Style};
use ratatui::text::Span;
use syntect::easy::HighlightLines;
use syntect::highlighting::{Theme, ThemeSet};
use syntect::parsing::SyntaxSet;

struct Grammars {
    syntaxes: SyntaxSet,
    theme: Theme,
}

/// Shared by everything that shows code; cheap to clone.
#[derive(Clone, Default)]
pub struct Highlighter {
    grammars: Arc<OnceLock<Option<Grammars>>>,
    loading: Arc<OnceLock<()>>,
}

/// Longer lines are data, and colouring them takes seconds.
const MAX_LINE: usize = 2_000;

impl Highlighter {
    /// Begins to load the grammars, once.
    fn warm(&self) {
        self.loading.get_or_init(|| {
            let grammars = Arc::clone(&self.grammars);
            std::thread::spawn(move || {
                grammars.get_or_init(load);
            });
        });
    }

    /// Loads the grammars now, for renderings that are made once.
    pub fn load_now(&self) {
        self.grammars.get_or_init(load);
    }

    /// One list of spans per line; `None` for an unknown language or while the
    /// grammars load.
    pub(super) fn lines(&self, language: &str, code: &str) -> Option<Vec<Vec<Span<'static>>>> {
        if language.is_empty() {
            return None;
        }
        self.warm();
        let grammars = self.grammars.get()?.as_ref()?;
        let syntax = grammars.syntaxes.find_syntax_by_token(language)?;
        let mut state = HighlightLines::new(syntax, &grammars.theme);
        let mut out = Vec::new();
        for line in code.split_inclusive('\n') {
            let bare = line.trim_end_matches('\n');
            if line.len() > MAX_LINE {
                out.push(vec![Span::raw(bare.to_owned())]);
                continue;
            }
            let regions = state.highlight_line(line, &grammars.syntaxes).ok()?;
            let spans = regions.into_iter().filter_map(|(style, text)| {
                let text = text.trim_end_matches('\n');
                let colour = style.foreground;
                let style = Style::new().fg(Color::Rgb(colour.r, colour.g, colour.b));
                (!text.is_empty()).then(|| Span::styled(text.to_owned(), style))
            });
            out.push(spans.collect());
        }
        Some(out)
    }
}

fn load() -> Option<Grammars> {
    let theme = ThemeSet::load_defaults()
        .themes
        .remove("base16-ocean.dark")?;
    Some(Grammars {
        syntaxes: SyntaxSet::load_defaults_newlines(),
        theme,
    })
}
