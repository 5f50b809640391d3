//! As much HTTP/1.1 as a client of ours speaks, written by hand.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

/// A request before anybody has looked into it.
pub(super) struct RawRequest {
    pub(super) method: String,
    pub(super) target: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

/// Reads one request; `None` when the client has closed the connection.
pub(super) async fn read_request(
    reader: &mut BufReader<OwnedReadHalf>,
) -> io::Result<Option<RawRequest>> {
    let mut line = String::new();
    if reader.read_line(&mut line).await? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Err(malformed("request line"));
    };
    let (method, target) = (method.to_owned(), target.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).await?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').ok_or_else(|| malformed("header"))?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let find = |name: &str| {
        headers
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, value)| value.as_str())
    };
    let mut body = Vec::new();
    if find("transfer-encoding").is_some_and(|v| v.eq_ignore_ascii_case("chunked")) {
        loop {
            let mut size = String::new();
            reader.read_line(&mut size).await?;
            let size = usize::from_str_radix(size.trim(), 16).map_err(|_| malformed("chunk"))?;
            let start = body.len();
            body.resize(start + size, 0);
            reader.read_exact(&mut body[start..]).await?;
            let mut end = String::new();
            reader.read_line(&mut end).await?;
            if size == 0 {
                break;
            }
        }
    } else if let Some(length) = find("content-length") {
        let length = length.parse().map_err(|_| malformed("content-length"))?;
        body.resize(length, 0);
        reader.read_exact(&mut body).await?;
    }
    Ok(Some(RawRequest {
        method,
        target,
        headers,
        body,
    }))
}

fn reason_phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        413 => "Content Too Large",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        _ => "Status",
    }
}

/// The status line and headers, with the framing the body will have.
pub(super) fn head(status: u16, headers: &[(String, String)], framing: Framing) -> Vec<u8> {
    let mut text = format!("HTTP/1.1 {status} {}\r\n", reason_phrase(status));
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    match framing {
        Framing::Length(length) => text.push_str(&format!("content-length: {length}\r\n")),
        Framing::Chunked => text.push_str("transfer-encoding: chunked\r\n"),
    }
    text.push_str("\r\n");
    text.into_bytes()
}

#[derive(Clone, Copy)]
pub(super) enum Framing {
    Length(usize),
    Chunked,
}

/// Writes one chunk of a chunked body.
pub(super) async fn write_chunk(writer: &mut OwnedWriteHalf, bytes: &[u8]) -> io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    let mut framed = format!("{:x}\r\n", bytes.len()).into_bytes();
    framed.extend_from_slice(bytes);
    framed.extend_from_slice(b"\r\n");
    writer.write_all(&framed).await
}

/// Resolves when the client has closed its side; bytes of a next request do not
/// count as closing.
pub(super) async fn client_gone(reader: &mut BufReader<OwnedReadHalf>) {
    match reader.fill_buf().await {
        Ok([]) | Err(_) => {}
        Ok(_) => std::future::pending().await,
    }
}
