//! The line that says where one is: model, context, cost, directory, sandbox.

use std::time::{Duration, Instant};

use hermes_types::{Cost, CostStatus};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::markdown::display_width;
use crate::theme::Theme;

#[derive(Clone, Debug)]
pub struct Status {
    pub model: String,
    pub cwd: String,
    pub sandbox: String,
    pub context_used: u64,
    pub context_window: u64,
    /// What the session cost, the running turn included.
    pub cost: Cost,
    /// What the turns before the running one cost.
    before: Cost,
    /// The limit that binds first, as text: `$0.40 of $1.00 today`.
    pub budget: Option<String>,
    pub processes: usize,
    /// Questions that are answered beside the conversation.
    pub beside: usize,
    /// How often the conversation was condensed.
    pub condensed: usize,
    pub yolo: bool,
    pub session_started: Instant,
}

impl Status {
    pub fn new(
        model: impl Into<String>,
        cwd: impl Into<String>,
        sandbox: impl Into<String>,
    ) -> Self {
        Self {
            model: model.into(),
            cwd: cwd.into(),
            sandbox: sandbox.into(),
            context_used: 0,
            context_window: 0,
            cost: Cost::default(),
            before: Cost::default(),
            budget: None,
            processes: 0,
            beside: 0,
            condensed: 0,
            yolo: false,
            session_started: Instant::now(),
        }
    }

    /// The running turn cost this so far.
    pub(super) fn turn_cost(&mut self, turn: Cost) {
        self.cost = sum(self.before, turn);
    }

    pub(super) fn turn_done(&mut self, turn: Cost) {
        self.before = sum(self.before, turn);
        self.cost = self.before;
    }

    pub(super) fn new_session(&mut self) {
        self.before = Cost::default();
        self.cost = Cost::default();
        self.condensed = 0;
    }

    /// As many facts as fit, the first ones being the most important; never wraps.
    pub(super) fn line(
        &self,
        width: usize,
        theme: Theme,
        working: Option<Duration>,
    ) -> Line<'static> {
        let mut facts: Vec<(String, Style)> = vec![(format!("⚕ {}", self.model), theme.dim)];
        if self.yolo {
            facts.push(("⚠ YOLO".to_owned(), theme.bad));
        }
        if let Some(elapsed) = working {
            facts.push((format!("⏱ {}", short(elapsed)), theme.dim));
        }
        let share = (self.context_used * 100).checked_div(self.context_window);
        if let Some(percent) = share.filter(|_| self.context_used > 0) {
            let style = match percent {
                95.. => theme.bad,
                80.. => theme.warning,
                _ => theme.dim,
            };
            let used = format!(
                "{}/{} {percent}%",
                tokens(self.context_used),
                tokens(self.context_window)
            );
            facts.push((used, style));
        }
        if let Some(cost) = self.price() {
            facts.push((cost, theme.dim));
        }
        if self.condensed > 0 {
            facts.push((format!("⇣ {}", self.condensed), theme.dim));
        }
        if self.beside > 0 {
            facts.push((format!("▶ {}", self.beside), theme.dim));
        }
        if self.processes > 0 {
            facts.push((format!("⚙ {}", self.processes), theme.dim));
        }
        facts.push((self.sandbox.clone(), theme.dim));
        facts.push((self.cwd.clone(), theme.dim));
        let mut spans = Vec::new();
        let mut used = 0;
        for (text, style) in facts.into_iter().filter(|(text, _)| !text.is_empty()) {
            let separator = if spans.is_empty() { 0 } else { 3 };
            let needed = display_width(&text) + separator;
            if used + needed > width {
                continue;
            }
            if separator > 0 {
                spans.push(Span::styled(" │ ", theme.dim));
            }
            used += needed;
            spans.push(Span::styled(text, style));
        }
        Line::from(spans)
    }

    fn price(&self) -> Option<String> {
        let spent = match self.cost.status {
            CostStatus::Included => None,
            CostStatus::Unknown if self.cost.usd == 0.0 => None,
            CostStatus::Actual => Some(format!("${:.2}", self.cost.usd)),
            CostStatus::Estimated | CostStatus::Unknown => Some(format!("~${:.2}", self.cost.usd)),
        };
        match (spent, &self.budget) {
            (spent, Some(budget)) => Some(
                [spent, Some(budget.clone())]
                    .into_iter()
                    .flatten()
                    .collect::<Vec<_>>()
                    .join(" · "),
            ),
            (spent, None) => spent,
        }
    }
}

/// A sum is only as certain as its least certain part.
fn sum(one: Cost, other: Cost) -> Cost {
    let status = match (one, other) {
        (one, other) if one == Cost::default() => other.status,
        (one, other) if other == Cost::default() => one.status,
        (one, other) if one.status == other.status => one.status,
        _ => CostStatus::Estimated,
    };
    Cost {
        usd: one.usd + other.usd,
        status,
    }
}

pub(super) fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{:.1}k", count as f64 / 1e3).replace(".0k", "k"),
        _ => format!("{:.1}M", count as f64 / 1e6).replace(".0M", "M"),
    }
}

pub(super) fn short(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
    }
}
