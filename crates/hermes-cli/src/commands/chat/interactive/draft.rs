//! The draft in the user's editor.

use std::io::Write as _;

use crate::{CommandError, Context, editor};

/// Lets the user edit a text and returns what it became; blocks.
pub(super) fn edit(draft: &str, context: &Context) -> Result<String, CommandError> {
    let program = editor::find(&context.environment)
        .ok_or_else(|| CommandError::user("no editor found: set EDITOR"))?;
    let directory = context.home.join("cache");
    std::fs::create_dir_all(&directory)?;
    let path = directory.join(format!("draft-{}.md", uuid::Uuid::new_v4().simple()));
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path)?;
    file.write_all(draft.as_bytes())?;
    drop(file);
    // The editor is awaited on a thread of its own: this one drives the runtime.
    let code = std::thread::scope(|scope| scope.spawn(|| editor::open(&program, &path)).join());
    let text = std::fs::read_to_string(&path);
    let _ = std::fs::remove_file(&path);
    match code {
        Ok(Ok(0)) => Ok(text?),
        Ok(Ok(code)) => Err(CommandError::user(format!(
            "`{program}` ended with code {code}; the draft is unchanged"
        ))),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(CommandError::internal("the editor's thread failed")),
    }
}
