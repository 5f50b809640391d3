//! How the wrapper reports back: one framed line after the command's own output.
//!
//! The frame is made of random text that is new for every command and does not
//! stand in the script in one piece, so neither output that imitates it nor a
//! command that prints its own script can be taken for it. Whatever surrounds the
//! frame is output and is passed on to the letter.

use memchr::memmem;

/// The text that frames one report.
#[derive(Clone, Debug)]
pub(super) struct Nonce {
    parts: (String, String),
    open: String,
    close: String,
}

/// Paths are at most 4096 bytes; what claims to be longer is no report.
const MAX_REPORT: usize = 8 << 10;

impl Nonce {
    pub(super) fn fresh() -> Self {
        let random = uuid::Uuid::new_v4().simple().to_string();
        let (left, right) = random.split_at(16);
        let parts = (format!("__HERMES_{left}"), format!("{right}_CWD__"));
        Self {
            open: format!("{}{}", parts.0, parts.1),
            close: format!("{}{}", parts.1, parts.0),
            parts,
        }
    }

    pub(super) fn open(&self) -> &str {
        &self.open
    }

    pub(super) fn close(&self) -> &str {
        &self.close
    }

    /// Two words that `printf %s%s` joins to the opening.
    pub(super) fn open_words(&self) -> String {
        format!("{} {}", self.parts.0, self.parts.1)
    }

    /// Two words that `printf %s%s` joins to the end.
    pub(super) fn close_words(&self) -> String {
        format!("{} {}", self.parts.1, self.parts.0)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Snapshot {
    /// Nothing changed.
    Same,
    /// The new file is complete and differs.
    Changed,
    /// It could not be written; the old one stays in force.
    Failed,
    /// There was none to read; the command did not run.
    Missing,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) snapshot: Snapshot,
    /// The shell is not where it started.
    pub(super) moved: bool,
    /// Where it is; `None` when it cannot say.
    pub(super) cwd: Option<String>,
}

impl Report {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let (&first, rest) = bytes.split_first()?;
        let snapshot = match first {
            b'=' => Snapshot::Same,
            b'+' => Snapshot::Changed,
            b'!' => Snapshot::Failed,
            b'?' => {
                return rest.is_empty().then_some(Self {
                    snapshot: Snapshot::Missing,
                    moved: false,
                    cwd: None,
                });
            }
            _ => return None,
        };
        let (&second, path) = rest.split_first()?;
        let moved = match second {
            b'.' => false,
            b'/' => true,
            _ => return None,
        };
        // `pwd` ends its line; a directory's own name may hold line breaks too.
        let path = path.strip_suffix(b"\n").unwrap_or(path);
        let cwd = std::str::from_utf8(path)
            .ok()
            .filter(|path| path.starts_with('/'))
            .map(str::to_owned);
        Some(Self {
            snapshot,
            moved,
            cwd,
        })
    }
}

/// Takes output as it arrives and gives it back without the report.
pub(super) struct Scanner {
    open: memmem::Finder<'static>,
    close: memmem::Finder<'static>,
    /// Output that may yet turn out to belong to a report.
    held: Vec<u8>,
    report: Option<Report>,
}

impl Scanner {
    pub(super) fn new(nonce: &Nonce) -> Self {
        Self {
            open: memmem::Finder::new(nonce.open()).into_owned(),
            close: memmem::Finder::new(nonce.close()).into_owned(),
            held: Vec::new(),
            report: None,
        }
    }

    pub(super) fn report(&self) -> Option<&Report> {
        self.report.as_ref()
    }

    /// `emit` receives everything that is certainly output.
    pub(super) fn push(&mut self, chunk: &[u8], emit: &mut dyn FnMut(&[u8])) {
        if self.held.is_empty() {
            let kept = self.consume(chunk, emit);
            self.held.extend_from_slice(&chunk[chunk.len() - kept..]);
        } else {
            let mut held = std::mem::take(&mut self.held);
            held.extend_from_slice(chunk);
            let kept = self.consume(&held, emit);
            held.drain(..held.len() - kept);
            self.held = held;
        }
    }

    /// No more output comes.
    pub(super) fn finish(&mut self, emit: &mut dyn FnMut(&[u8])) {
        let held = std::mem::take(&mut self.held);
        if !held.is_empty() {
            emit(&held);
        }
    }

    /// Returns how many bytes at the end must be kept for later.
    fn consume(&mut self, bytes: &[u8], emit: &mut dyn FnMut(&[u8])) -> usize {
        let mut rest = bytes;
        loop {
            let Some(start) = self.open.find(rest) else {
                let keep = possible_start(rest, self.open.needle());
                let (sure, kept) = rest.split_at(rest.len() - keep);
                if !sure.is_empty() {
                    emit(sure);
                }
                return kept.len();
            };
            let inner = &rest[start + self.open.needle().len()..];
            match self.close.find(inner) {
                Some(end) => {
                    match Report::parse(&inner[..end]) {
                        Some(report) => {
                            if start > 0 {
                                emit(&rest[..start]);
                            }
                            self.report = Some(report);
                        }
                        // Framed, but not by us.
                        None => emit(
                            &rest[..rest.len() - inner.len() + end + self.close.needle().len()],
                        ),
                    }
                    rest = &inner[end + self.close.needle().len()..];
                }
                None if inner.len() > MAX_REPORT => {
                    let past = rest.len() - inner.len();
                    emit(&rest[..past]);
                    rest = inner;
                }
                None => {
                    if start > 0 {
                        emit(&rest[..start]);
                    }
                    return rest.len() - start;
                }
            }
        }
    }
}

/// Length of the longest end of `bytes` that `needle` begins with.
fn possible_start(bytes: &[u8], needle: &[u8]) -> usize {
    let longest = bytes.len().min(needle.len() - 1);
    (1..=longest)
        .rev()
        .find(|&length| bytes[bytes.len() - length..] == needle[..length])
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    fn scan(nonce: &Nonce, chunks: &[&[u8]]) -> (Vec<u8>, Option<Report>) {
        let mut scanner = Scanner::new(nonce);
        let mut output = Vec::new();
        for chunk in chunks {
            scanner.push(chunk, &mut |bytes| output.extend_from_slice(bytes));
        }
        scanner.finish(&mut |bytes| output.extend_from_slice(bytes));
        (output, scanner.report().cloned())
    }

    fn framed(nonce: &Nonce, payload: &str) -> Vec<u8> {
        format!("{}{payload}{}", nonce.open(), nonce.close()).into_bytes()
    }

    #[test]
    fn output_without_a_final_line_break_stays_exact() {
        let nonce = Nonce::fresh();
        let stream = [b"exact".to_vec(), framed(&nonce, "=./tmp\n")].concat();
        let (output, report) = scan(&nonce, &[&stream]);
        assert_eq!(output, b"exact");
        assert_eq!(
            report,
            Some(Report {
                snapshot: Snapshot::Same,
                moved: false,
                cwd: Some("/tmp".to_owned())
            })
        );
    }

    #[test]
    fn what_an_exit_trap_prints_after_the_report_is_output() {
        let nonce = Nonce::fresh();
        let stream = [
            b"a\n".to_vec(),
            framed(&nonce, "+//x\ny\n"),
            b"bye\n".to_vec(),
        ]
        .concat();
        let (output, report) = scan(&nonce, &[&stream]);
        assert_eq!(output, b"a\nbye\n");
        assert_eq!(report.unwrap().cwd.unwrap(), "/x\ny");
    }

    #[test]
    fn the_frame_of_another_command_is_output() {
        let (nonce, other) = (Nonce::fresh(), Nonce::fresh());
        let imitation = framed(&other, "+//etc\n");
        let stream = [imitation.clone(), framed(&nonce, "=./\n")].concat();
        let (output, report) = scan(&nonce, &[&stream]);
        assert_eq!(output, imitation);
        assert_eq!(report.unwrap().cwd.unwrap(), "/");
    }

    #[test]
    fn an_opening_that_never_closes_is_output() {
        let nonce = Nonce::fresh();
        let stream = [nonce.open().as_bytes().to_vec(), vec![b'x'; 20_000]].concat();
        assert_eq!(scan(&nonce, &[&stream]), (stream, None));
    }

    proptest! {
        #[test]
        fn cuts_change_nothing(
            before in proptest::collection::vec(any::<u8>(), 0..200),
            after in proptest::collection::vec(any::<u8>(), 0..50),
            cuts in proptest::collection::vec(0_usize..600, 0..12),
        ) {
            let nonce = Nonce::fresh();
            let stream = [before.clone(), framed(&nonce, "=./a/b\n"), after.clone()].concat();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(stream.len())).collect();
            cuts.extend([0, stream.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> = cuts.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect();
            let (output, report) = scan(&nonce, &chunks);
            prop_assert_eq!(output, [before, after].concat());
            prop_assert_eq!(report.unwrap().cwd.unwrap(), "/a/b");
        }

        #[test]
        fn bytes_without_a_frame_pass_unchanged(
            chunks in proptest::collection::vec(proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'_'), any::<u8>()], 0..80), 0..20)
        ) {
            let nonce = Nonce::fresh();
            let borrowed: Vec<&[u8]> = chunks.iter().map(Vec::as_slice).collect();
            prop_assert_eq!(scan(&nonce, &borrowed), (chunks.concat(), None));
        }
    }
}
