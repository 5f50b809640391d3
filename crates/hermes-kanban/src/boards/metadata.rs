//! `board.json`: what people call a board. Missing or broken files are no error,
//! and keys we do not know survive a rewrite.

use std::fs;
use std::io;
use std::path::Path;

use hermes_home::{FileMode, write_atomic};
use serde_json::{Map, Value, json};

use super::Slug;

#[derive(Clone, Debug, PartialEq)]
pub struct BoardMetadata {
    slug: Slug,
    fields: Map<String, Value>,
}

impl BoardMetadata {
    /// Reads `directory/board.json` over the synthesised defaults.
    pub fn read(slug: &Slug, directory: &Path) -> Self {
        let stored = fs::read(directory.join("board.json"))
            .ok()
            .and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
        let mut fields = defaults(slug);
        if let Some(Value::Object(stored)) = stored {
            fields.extend(stored);
        }
        // The directory decides what the board is called.
        fields.insert("slug".to_owned(), json!(slug.as_str()));
        fields.shift_remove("db_path");
        Self {
            slug: slug.clone(),
            fields,
        }
    }

    pub fn name(&self) -> String {
        self.text("name").unwrap_or_else(|| self.slug.title())
    }

    pub fn description(&self) -> String {
        self.text("description").unwrap_or_default()
    }

    pub fn default_workdir(&self) -> Option<String> {
        self.text("default_workdir")
    }

    pub fn is_archived(&self) -> bool {
        self.fields.get("archived").and_then(Value::as_bool) == Some(true)
    }

    fn text(&self, key: &str) -> Option<String> {
        let text = self.fields.get(key)?.as_str()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    pub fn set(&mut self, key: &str, value: Value) {
        self.fields.insert(key.to_owned(), value);
    }

    /// Keys in the stored order, without `db_path`.
    pub fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }

    pub fn write(&mut self, directory: &Path, now: i64) -> io::Result<()> {
        if self.fields.get("created_at").is_none_or(Value::is_null) {
            self.set("created_at", json!(now));
        }
        fs::create_dir_all(directory)?;
        let mut text = crate::model::pretty(&self.fields);
        text.push('\n');
        write_atomic(
            &directory.join("board.json"),
            text.as_bytes(),
            FileMode::Keep,
        )
    }
}

fn defaults(slug: &Slug) -> Map<String, Value> {
    let Value::Object(map) = json!({
        "slug": slug.as_str(),
        "name": slug.title(),
        "description": "",
        "icon": "",
        "color": "",
        "default_workdir": null,
        "created_at": null,
        "archived": false,
    }) else {
        return Map::new();
    };
    map
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_metadata_gives_the_synthesised_board() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("board.json"), "{ not json").unwrap();
        let slug = Slug::parse("site-redesign").unwrap();
        let meta = BoardMetadata::read(&slug, dir.path());
        assert_eq!(meta.name(), "Site Redesign");
        assert!(!meta.is_archived());
    }

    #[test]
    fn unknown_keys_survive_a_rewrite_and_the_directory_names_the_board() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(
            dir.path().join("board.json"),
            r#"{"slug":"other","theme":{"dark":true}}"#,
        )
        .unwrap();
        let slug = Slug::parse("p").unwrap();
        let mut meta = BoardMetadata::read(&slug, dir.path());
        meta.set("name", json!("Plan"));
        meta.write(dir.path(), 42).unwrap();
        let text = fs::read_to_string(dir.path().join("board.json")).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["slug"], "p");
        assert_eq!(value["name"], "Plan");
        assert_eq!(value["created_at"], 42);
        assert_eq!(value["theme"]["dark"], true);
        assert!(text.starts_with("{\n  \"slug\": \"p\",\n  \"name\": \"Plan\",\n"));
        assert!(text.ends_with("}\n"));
    }
}
