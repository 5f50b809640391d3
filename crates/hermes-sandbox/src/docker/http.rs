//! As much HTTP/1.1 as an engine's local socket needs: one request per
//! connection, and the upgrade that turns an exec into a stream.

use std::io;
use std::path::Path;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

/// Far above any answer about containers.
const ANSWER_LIMIT: usize = 32 << 20;

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

/// A connection after `101 UPGRADED`, with what arrived behind the headers.
pub(crate) struct Upgraded {
    pub(crate) stream: UnixStream,
    pub(crate) early: BytesMut,
}

pub(crate) enum Upgrade {
    Done(Upgraded),
    Refused(Answer),
}

pub(crate) async fn request(
    socket: &Path,
    method: &str,
    path: &str,
    body: Option<&serde_json::Value>,
    limit: Duration,
) -> io::Result<Answer> {
    within(limit, async {
        let mut stream = send(socket, method, path, body, "Connection: close\r\n").await?;
        let (head, early) = head(&mut stream).await?;
        finish(&mut stream, &head, early).await
    })
    .await
}

pub(crate) async fn upgrade(
    socket: &Path,
    path: &str,
    body: &serde_json::Value,
    limit: Duration,
) -> io::Result<Upgrade> {
    within(limit, async {
        let headers = "Connection: Upgrade\r\nUpgrade: tcp\r\n";
        let mut stream = send(socket, "POST", path, Some(body), headers).await?;
        let (head, early) = head(&mut stream).await?;
        // Old engines answer 200 and stream all the same.
        if head.status == 101 || (head.status == 200 && head.length.is_none() && !head.chunked) {
            return Ok(Upgrade::Done(Upgraded { stream, early }));
        }
        finish(&mut stream, &head, early)
            .await
            .map(Upgrade::Refused)
    })
    .await
}

async fn within<T>(limit: Duration, work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    tokio::time::timeout(limit, work)
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

async fn send(
    socket: &Path,
    method: &str,
    path: &str,
    body: Option<&serde_json::Value>,
    headers: &str,
) -> io::Result<UnixStream> {
    let body = body.map(serde_json::Value::to_string).unwrap_or_default();
    let text = format!(
        "{method} {path} HTTP/1.1\r\nHost: docker\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    );
    let mut stream = UnixStream::connect(socket).await?;
    stream.write_all(text.as_bytes()).await?;
    Ok(stream)
}

struct Head {
    status: u16,
    length: Option<usize>,
    chunked: bool,
}

async fn head(stream: &mut UnixStream) -> io::Result<(Head, BytesMut)> {
    let mut buffer = BytesMut::with_capacity(4096);
    let end = loop {
        if let Some(end) = find(&buffer, b"\r\n\r\n") {
            break end;
        }
        if buffer.len() > 64 << 10 || stream.read_buf(&mut buffer).await? == 0 {
            return Err(bad("headers without end"));
        }
    };
    let text = String::from_utf8_lossy(&buffer[..end]).into_owned();
    buffer.advance(end + 4);
    let mut lines = text.split("\r\n");
    let status = lines
        .next()
        .and_then(|line| line.split(' ').nth(1))
        .and_then(|code| code.parse().ok())
        .ok_or_else(|| bad("no status"))?;
    let mut head = Head {
        status,
        length: None,
        chunked: false,
    };
    for line in lines {
        if let Some((name, value)) = line.split_once(':') {
            if name.eq_ignore_ascii_case("content-length") {
                head.length = value.trim().parse().ok();
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                head.chunked = value.trim().eq_ignore_ascii_case("chunked");
            }
        }
    }
    Ok((head, buffer))
}

async fn finish(stream: &mut UnixStream, head: &Head, mut body: BytesMut) -> io::Result<Answer> {
    loop {
        let complete = match head.length {
            Some(length) => body.len() >= length,
            None => head.chunked && body.ends_with(b"0\r\n\r\n"),
        };
        if complete || stream.read_buf(&mut body).await? == 0 {
            break;
        }
        if body.len() > ANSWER_LIMIT {
            return Err(bad("an answer too long"));
        }
    }
    let body = if head.chunked {
        unchunk(&body)?
    } else {
        body.to_vec()
    };
    Ok(Answer {
        status: head.status,
        body,
    })
}

fn unchunk(mut bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut whole = Vec::with_capacity(bytes.len());
    loop {
        let end = find(bytes, b"\r\n").ok_or_else(|| bad("a chunk without length"))?;
        let size = std::str::from_utf8(&bytes[..end])
            .ok()
            .and_then(|text| text.split(';').next())
            .and_then(|text| usize::from_str_radix(text.trim(), 16).ok())
            .ok_or_else(|| bad("a chunk of unreadable length"))?;
        bytes = &bytes[end + 2..];
        if size == 0 {
            return Ok(whole);
        }
        let chunk = bytes.get(..size).ok_or_else(|| bad("a chunk cut short"))?;
        whole.extend_from_slice(chunk);
        bytes = bytes.get(size + 2..).unwrap_or_default();
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack
        .windows(needle.len())
        .position(|window| window == needle)
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

/// Everything but unreserved characters, for a query.
pub(crate) fn percent_encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_joined_and_a_cut_is_an_error() {
        assert_eq!(
            unchunk(b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n").ok(),
            Some(b"abcde".to_vec())
        );
        assert!(unchunk(b"5\r\nabc").is_err());
        assert!(unchunk(b"zz\r\n").is_err());
    }

    #[test]
    fn filters_survive_a_query() {
        assert_eq!(
            percent_encode(r#"{"a":["b=c"]}"#),
            "%7B%22a%22%3A%5B%22b%3Dc%22%5D%7D"
        );
    }
}
