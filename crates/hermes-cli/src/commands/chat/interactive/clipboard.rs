//! Pictures from the clipboard, through whatever program of the desktop can hand
//! them over. They are kept in `images/` of the home.

use std::time::Duration;

use hermes_agent::picture;
use hermes_process::{Command, Limits, output};
use hermes_types::Part;

use crate::Context;

/// In the order they are tried; each writes a PNG to its output.
const PROGRAMS: [(&str, &[&str]); 3] = [
    ("wl-paste", &["--no-newline", "--type", "image/png"]),
    (
        "xclip",
        &["-selection", "clipboard", "-target", "image/png", "-out"],
    ),
    ("pngpaste", &["-"]),
];
const PATIENCE: Duration = Duration::from_secs(5);
const MOST: usize = 20 << 20;

/// The picture on the clipboard, or a sentence about why there is none.
pub(super) async fn picture_of(context: &Context) -> Result<Part, String> {
    let mut asked = Vec::new();
    for (program, arguments) in PROGRAMS {
        let command = Command::new(program)
            .only_env(context.environment.iter())
            .args(arguments.iter().copied());
        let limits = Limits {
            timeout: PATIENCE,
            max_bytes: MOST,
        };
        let Ok(captured) = output(command, limits).await else {
            continue;
        };
        asked.push(program);
        if !captured.success() || captured.truncated || captured.stdout.is_empty() {
            continue;
        }
        let directory = context.home.join("images");
        let time = context.clock.now_local().format("%Y%m%d_%H%M%S_%3f");
        let path = directory.join(format!("clip_{time}.png"));
        let kept = std::fs::create_dir_all(&directory)
            .and_then(|()| std::fs::write(&path, &captured.stdout));
        kept.map_err(|error| format!("the picture could not be kept: {error}"))?;
        return picture(&path);
    }
    Err(match asked.as_slice() {
        [] => {
            "no program here reads pictures from the clipboard; install `wl-clipboard` or `xclip`, \
               or name a file with `/image PATH`"
                .to_owned()
        }
        _ => "there is no picture on the clipboard; `/image PATH` attaches a file".to_owned(),
    })
}
