//! Styles by meaning. No meaning is carried by colour alone: what is coloured is
//! also bold, dim, underlined or marked with a sign.

use ratatui::style::{Color, Modifier, Style};

/// One style per meaning, so that a screen without colour is still readable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme {
    pub heading: Style,
    pub code: Style,
    pub link: Style,
    pub quote: Style,
    pub dim: Style,
    pub user: Style,
    pub tool: Style,
    pub good: Style,
    pub bad: Style,
    pub warning: Style,
    pub added: Style,
    pub removed: Style,
    pub selected: Style,
    /// Whether source code may be coloured by its syntax.
    pub highlight: bool,
}

impl Theme {
    pub fn coloured() -> Self {
        let plain = Style::new();
        Self {
            heading: plain.fg(Color::Cyan).add_modifier(Modifier::BOLD),
            code: plain.fg(Color::Yellow),
            link: plain.fg(Color::Blue).add_modifier(Modifier::UNDERLINED),
            quote: plain.add_modifier(Modifier::ITALIC),
            dim: plain.add_modifier(Modifier::DIM),
            user: plain.fg(Color::Green).add_modifier(Modifier::BOLD),
            tool: plain.fg(Color::Magenta),
            good: plain.fg(Color::Green),
            bad: plain.fg(Color::Red).add_modifier(Modifier::BOLD),
            warning: plain.fg(Color::Yellow).add_modifier(Modifier::BOLD),
            added: plain.fg(Color::Green),
            removed: plain.fg(Color::Red),
            selected: plain.add_modifier(Modifier::REVERSED),
            highlight: true,
        }
    }

    /// For `NO_COLOR` and terminals without it.
    pub fn plain() -> Self {
        let mut theme = Self::coloured();
        for style in [
            &mut theme.heading,
            &mut theme.code,
            &mut theme.link,
            &mut theme.quote,
            &mut theme.dim,
            &mut theme.user,
            &mut theme.tool,
            &mut theme.good,
            &mut theme.bad,
            &mut theme.warning,
            &mut theme.added,
            &mut theme.removed,
            &mut theme.selected,
        ] {
            style.fg = None;
        }
        theme.highlight = false;
        theme
    }
}
