//! How much of a result the model reads. What is longer is put into a file that
//! its tools can open, and a preview stands in for it.

use std::borrow::Cow;

use futures_util::future::BoxFuture;
use serde_json::Value;

/// Most characters that all results of one batch may have together.
pub const BATCH_LIMIT: usize = 200_000;
const PREVIEW: usize = 1_500;

/// Writes text to a file that the model's tools can reach.
pub trait Spill: Send + Sync {
    /// The path as the tools see it.
    fn write<'a>(&'a self, name: &'a str, text: &'a str) -> BoxFuture<'a, Result<String, String>>;
}

/// The text, or what stands for it when it is longer than `limit` characters.
pub async fn limited(
    text: String,
    limit: usize,
    call_id: &str,
    spill: Option<&dyn Spill>,
) -> String {
    // Bytes bound characters from above: most results need no counting.
    if text.len() <= limit {
        return text;
    }
    let length = text.chars().count();
    if length <= limit {
        return text;
    }
    spilled(text, length, limit, call_id, spill).await
}

/// Puts the text away whatever its length.
pub async fn spilled(
    text: String,
    length: usize,
    limit: usize,
    call_id: &str,
    spill: Option<&dyn Spill>,
) -> String {
    let Some(spill) = spill else {
        return shortened(&text, length, limit, "there is no place to keep it");
    };
    let name = format!("{}.txt", file_name(call_id));
    let readable = in_lines(&text);
    match spill.write(&name, &readable).await {
        Ok(path) => format!(
            "<persisted-output>\nThe result has {length} characters and was saved to {path}; read parts of it with read_file or search_files. It begins:\n{}\n</persisted-output>",
            preview(&readable)
        ),
        Err(why) => shortened(&text, length, limit, &why),
    }
}

/// A result that is one JSON object is one line, which can neither be paged nor
/// searched: texts of several lines are written out, the rest is indented.
fn in_lines(text: &str) -> Cow<'_, str> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let Some(Ok(Value::Object(fields))) = values.next() else {
        return Cow::Borrowed(text);
    };
    let mut out = String::with_capacity(text.len());
    for (name, value) in &fields {
        match value {
            Value::String(lines) if lines.contains('\n') => {
                out.push_str(&format!("{name}:\n{}\n", lines.trim_end_matches('\n')));
            }
            other => out.push_str(&format!("{name}: {other:#}\n")),
        }
    }
    out.push_str(text[values.byte_offset()..].trim_start_matches('\n'));
    Cow::Owned(out)
}

/// The first characters up to a line end.
pub fn preview(text: &str) -> &str {
    let end = text
        .char_indices()
        .nth(PREVIEW)
        .map_or(text.len(), |(index, _)| index);
    let head = &text[..end];
    match head.rfind('\n') {
        Some(index) if end < text.len() && index > PREVIEW / 3 => &head[..index],
        _ => head,
    }
}

/// Head and tail, with a note of what is missing. Where nothing can be kept
/// elsewhere, as much as the limit allows is kept here.
fn shortened(text: &str, length: usize, limit: usize, why: &str) -> String {
    let head = limit * 7 / 10;
    let tail = limit * 2 / 10;
    let start = byte_of(text, head);
    let end = byte_of(text, length - tail.min(length));
    format!(
        "{}\n[… {} characters left out: {why} …]\n{}",
        &text[..start],
        length - head - tail,
        &text[end..]
    )
}

fn byte_of(text: &str, character: usize) -> usize {
    text.char_indices()
        .nth(character)
        .map_or(text.len(), |(index, _)| index)
}

/// A call's id may hold anything; a file name may not.
fn file_name(id: &str) -> String {
    id.chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '-' || c == '_' {
                c
            } else {
                '_'
            }
        })
        .take(100)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[derive(Default)]
    struct Shelf(Mutex<Vec<(String, String)>>);

    impl Spill for Shelf {
        fn write<'a>(
            &'a self,
            name: &'a str,
            text: &'a str,
        ) -> BoxFuture<'a, Result<String, String>> {
            self.0.lock().unwrap().push((name.into(), text.into()));
            Box::pin(async move { Ok(format!("/tmp/hermes-results/{name}")) })
        }
    }

    #[tokio::test]
    async fn short_results_pass_and_long_ones_are_kept_in_a_file() {
        let shelf = Shelf::default();
        let short = limited("äöü".repeat(10), 30, "id", Some(&shelf)).await;
        assert_eq!(short, "äöü".repeat(10));
        let long = "line\n".repeat(1000);
        let shown = limited(long.clone(), 100, "call/../x", Some(&shelf)).await;
        assert!(shown.starts_with("<persisted-output>\nThe result has 5000 characters"));
        assert!(shown.contains("/tmp/hermes-results/call____x.txt"));
        assert!(shown.len() < 2000);
        assert_eq!(shelf.0.lock().unwrap()[0].1, long);
    }

    #[tokio::test]
    async fn a_json_result_is_kept_in_lines() {
        let shelf = Shelf::default();
        let text = r#"{"output":"a\nb\n","code":0,"list":[1,2]}"#.to_owned() + "\n[a note]";
        spilled(text, 40, 10, "id", Some(&shelf)).await;
        assert_eq!(
            shelf.0.lock().unwrap()[0].1,
            "output:\na\nb\ncode: 0\nlist: [\n  1,\n  2\n]\n[a note]"
        );
    }

    #[tokio::test]
    async fn without_a_place_as_much_as_allowed_is_kept() {
        let text: String = ('a'..='z').cycle().take(1000).collect();
        let shown = limited(text.clone(), 200, "id", None).await;
        assert!(shown.starts_with(&text[..140]));
        assert!(shown.ends_with(&text[960..]));
        assert!(shown.contains("820 characters left out"));
    }
}
