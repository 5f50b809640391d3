//! The text of one request: shell source that the resident shell evaluates in a
//! child of its own.

/// What a call starts, in words that any shell can be told.
#[derive(Clone, Debug)]
pub struct CallRequest {
    /// Program and options; the script follows as the argument of `-c`.
    pub shell: Vec<String>,
    /// Any bytes but NUL.
    pub script: Vec<u8>,
    /// Set for the command alone; never on a command line.
    pub environment: Vec<(String, String)>,
    pub input: CallInput,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallInput {
    Nothing,
    Bytes(Vec<u8>),
    /// Written while the command runs.
    Stream,
}

/// Up to here input travels inside the request, as escapes; more is streamed.
const INLINE_INPUT: usize = 16 << 10;

/// Up to here a script is an argument; Linux takes none of 128 KiB or more.
const ARGUMENT: usize = 120 << 10;

/// Quoted so that a shell reads exactly this text.
pub fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn push_quoted(body: &mut Vec<u8>, text: &[u8]) {
    body.push(b'\'');
    for byte in text {
        match byte {
            b'\'' => body.extend_from_slice(br"'\''"),
            _ => body.push(*byte),
        }
    }
    body.push(b'\'');
}

impl CallRequest {
    /// Whether the command reads the channel itself, which is used up by that.
    pub(crate) fn takes_the_channel(&self) -> bool {
        match &self.input {
            CallInput::Nothing => false,
            CallInput::Bytes(bytes) => bytes.len() > INLINE_INPUT || self.script_is_long(),
            CallInput::Stream => true,
        }
    }

    fn script_is_long(&self) -> bool {
        self.script.len() > ARGUMENT
    }

    /// Its lines are what the header of the request counts.
    pub(crate) fn body(&self, mark: u64, has_setsid: bool) -> Vec<u8> {
        let mut body =
            format!("{{ ulimit -x {mark} || ulimit -w {mark}; }} 2>/dev/null\n").into_bytes();
        for (name, value) in &self.environment {
            body.extend_from_slice(format!("export {name}={}\n", quote(value)).as_bytes());
        }
        // Without a session of its own, `kill 0` in a command would reach us.
        let mut shell = if has_setsid { "setsid" } else { "" }.to_owned();
        for word in &self.shell {
            shell.push(' ');
            shell.push_str(&quote(word));
        }
        if self.script_is_long() {
            // The shell has it from a pipe of its own, beside its input; read by a program,
            // because a shell would read it byte by byte.
            body.extend_from_slice(b"exec 4<&0\nprintf '%s' ");
            push_quoted(&mut body, &self.script);
            let read = r#"'eval "$(cat <&9)" 9<&-'"#;
            let rest = format!(" | {{ exec 9<&0 0<&4 4<&-; exec {shell} -c {read}; }}\n");
            body.extend_from_slice(rest.as_bytes());
            return body;
        }
        match &self.input {
            CallInput::Bytes(bytes) if !self.takes_the_channel() => {
                let text = format!("printf '%b' '{}' | {shell} -c ", escapes(bytes));
                body.extend_from_slice(text.as_bytes());
            }
            _ => body.extend_from_slice(format!("exec {shell} -c ").as_bytes()),
        }
        push_quoted(&mut body, &self.script);
        body.push(b'\n');
        body
    }
}

/// Bytes as `printf %b` escapes.
fn escapes(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b' ' | b'.' | b'/' | b'_' | b'-' | b',' => {
                text.push(char::from(*byte));
            }
            _ => text.push_str(&format!("\\0{byte:03o}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn request(script: &str, input: CallInput) -> CallRequest {
        CallRequest {
            shell: vec!["bash".into(), "-l".into()],
            script: script.into(),
            environment: Vec::new(),
            input,
        }
    }

    fn text(request: &CallRequest, has_setsid: bool) -> String {
        String::from_utf8(request.body(77, has_setsid)).expect("text")
    }

    #[test]
    fn a_request_marks_exports_and_starts() {
        let mut request = request("echo 'a'\necho b", CallInput::Nothing);
        request
            .environment
            .push(("TOKEN".into(), "it's\ntwo".into()));
        assert_eq!(
            text(&request, true),
            "{ ulimit -x 77 || ulimit -w 77; } 2>/dev/null\n\
             export TOKEN='it'\\''s\ntwo'\n\
             exec setsid 'bash' '-l' -c 'echo '\\''a'\\''\necho b'\n"
        );
    }

    #[test]
    fn small_input_travels_in_the_request_and_large_input_takes_the_channel() {
        let small = request("cat", CallInput::Bytes(b"pa$$\n\0'".to_vec()));
        assert!(!small.takes_the_channel());
        assert!(
            text(&small, false).ends_with(
                "printf '%b' 'pa\\0044\\0044\\0012\\0000\\0047' |  'bash' '-l' -c 'cat'\n"
            )
        );
        let large = request("cat", CallInput::Bytes(vec![b'x'; INLINE_INPUT + 1]));
        assert!(large.takes_the_channel());
    }

    #[test]
    fn a_script_too_long_for_an_argument_comes_through_a_pipe() {
        let long = request(&"x".repeat(ARGUMENT + 1), CallInput::Bytes(b"in".to_vec()));
        assert!(long.takes_the_channel());
        assert!(
            text(&long, true)
                .ends_with("exec setsid 'bash' '-l' -c 'eval \"$(cat <&9)\" 9<&-'; }\n")
        );
    }
}
