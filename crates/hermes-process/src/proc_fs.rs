//! What `/proc` says about processes.

use crate::mark::Mark;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) pid: i32,
    pub(crate) state: u8,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    pub(crate) session: i32,
    pub(crate) start_ticks: u64,
}

impl Stat {
    /// Zombies and processes that are being taken down.
    pub(crate) fn is_dead(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x')
    }
}

pub(crate) fn stat(pid: i32) -> Option<Stat> {
    parse_stat(&std::fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// The name in parentheses may itself hold spaces and parentheses, so fields are
/// counted from the last one.
fn parse_stat(bytes: &[u8]) -> Option<Stat> {
    let close = bytes.iter().rposition(|&byte| byte == b')')?;
    let pid = std::str::from_utf8(bytes.split(|&byte| byte == b' ').next()?).ok()?;
    let rest = std::str::from_utf8(bytes.get(close + 2..)?).ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<i32>().ok();
    Some(Stat {
        pid: pid.parse().ok()?,
        state: *fields.first()?.as_bytes().first()?,
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
        start_ticks: fields.get(19)?.parse().ok()?,
    })
}

/// The mark a process carries, if any.
pub(crate) fn mark(pid: i32) -> Option<Mark> {
    parse_mark(&std::fs::read_to_string(format!("/proc/{pid}/limits")).ok()?)
}

fn parse_mark(limits: &str) -> Option<Mark> {
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max realtime timeout"))?;
    let hard = line.split_ascii_whitespace().nth(1)?;
    hard.parse().ok().map(Mark::from_value)
}

/// Every process that is not a kernel thread. What vanishes meanwhile is left out.
pub(crate) fn all() -> Vec<Stat> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter_map(stat)
        .filter(|stat| !(stat.group == 0 && stat.session == 0))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_name_with_parentheses_and_spaces_does_not_shift_the_fields() {
        let line = b"77 (a) R 1 (b) S 5 77 70 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 9988 0 0";
        assert_eq!(
            parse_stat(line),
            Some(Stat {
                pid: 77,
                state: b'S',
                parent: 5,
                group: 77,
                session: 70,
                start_ticks: 9988
            })
        );
        assert_eq!(parse_stat(b"77 (cut"), None);
    }

    #[test]
    fn marks_are_read_from_the_hard_limit() {
        let text = "Limit  Soft Limit  Hard Limit  Units\n\
                    Max realtime priority     0                    0                    \n\
                    Max realtime timeout      12                   34                   us        \n";
        assert_eq!(parse_mark(text), Some(Mark::from_value(34)));
        assert_eq!(
            parse_mark("Max realtime timeout      unlimited            unlimited            us"),
            None
        );
    }

    #[test]
    fn the_list_holds_this_process() {
        let me = i32::try_from(std::process::id()).unwrap();
        assert!(all().iter().any(|stat| stat.pid == me));
    }
}
