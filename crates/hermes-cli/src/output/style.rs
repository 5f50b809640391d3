//! Colour as decoration: every function returns the plain text when colour is off.

/// Whether one stream is decorated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    pub enabled: bool,
}

impl Style {
    pub fn heading(self, text: &str) -> String {
        self.wrap("1", text)
    }

    pub fn good(self, text: &str) -> String {
        self.wrap("32", text)
    }

    pub fn warning(self, text: &str) -> String {
        self.wrap("33", text)
    }

    pub fn bad(self, text: &str) -> String {
        self.wrap("1;31", text)
    }

    pub fn faint(self, text: &str) -> String {
        self.wrap("2", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.enabled {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}
