//! The table. A line is a command: name, aliases, arguments, what it does, who
//! carries it out and when.

use super::{By, SlashCommand, When};

use By::{FrontEnd, Program, Verb};
use When::{Always, Idle, Soon};

const fn command(
    name: &'static str,
    aliases: &'static [&'static str],
    usage: &'static str,
    summary: &'static str,
    by: By,
    when: When,
) -> SlashCommand {
    SlashCommand {
        name,
        aliases,
        usage,
        summary,
        by,
        when,
        confirmed: false,
    }
}

#[rustfmt::skip]
pub const CATALOGUE: &[SlashCommand] = &[
    command("help", &["commands"], "", "What can be typed here", FrontEnd, Always),
    command("new", &["reset"], "[TITLE] [--yes]", "Begin a new session", Program, Idle).confirmed(),
    command("resume", &[], "[N|ID|TITLE]", "Go on with an earlier session", Program, Idle),
    command("title", &[], "[TEXT]", "Name this session, or show its name", Program, Idle),
    command("history", &[], "", "What was said so far", Program, Always),
    command("save", &[], "", "Write the conversation to a file", Program, Always),
    command("branch", &["fork"], "[TITLE]", "Go on in a copy of this session", Program, Idle),
    command("background", &["bg", "btw"], "TEXT", "Answer this beside the conversation", Program, Always),
    command("retry", &[], "", "Send the last message again", Program, Idle),
    command("undo", &[], "[N] [--yes]", "Take back the last N of your messages", Program, Idle).confirmed(),
    command("rollback", &[], "[N [FILE] | diff N] [--clean]", "Go back to files as they were", Program, Idle),
    command("snapshot", &["snap"], "[list|create [LABEL]|restore ID|prune [N]]", "Copies of settings and sessions", Program, Idle),
    command("compress", &[], "[here [N]|TOPIC]", "Condense the conversation now", Program, Idle),
    command("model", &[], "[NAME] [--provider P] [--global] [--refresh]", "Choose another model", Program, Soon),
    command("personality", &[], "[NAME|none]", "Choose how the model speaks, for good", Program, Idle),
    command("reasoning", &[], "[LEVEL|show|hide]", "How much the model thinks, and whether you see it", Program, Idle),
    command("fast", &[], "[normal|fast|status]", "Pay for speed where the provider sells it", Program, Idle),
    command("yolo", &[], "", "Stop or resume asking before dangerous commands", Program, Always),
    command("status", &[], "", "Model, session, sandbox and spending", Program, Always),
    command("usage", &[], "", "Tokens and cost of this session", Program, Always),
    command("whoami", &[], "", "User, profile and home", Program, Always),
    command("stop", &[], "", "End what runs in the background", Program, Always),
    command("agents", &["tasks"], "", "List what runs in the background", Program, Always),
    command("queue", &["q"], "TEXT", "Send this after the running turn", FrontEnd, Always),
    command("steer", &[], "TEXT", "Give guidance to the running turn", FrontEnd, Always),
    command("busy", &[], "[interrupt|queue|steer]", "What Enter does while Hermes works", FrontEnd, Always),
    command("verbose", &[], "", "Show more, fewer or no tool lines", FrontEnd, Always),
    command("statusbar", &["sb"], "", "Hide or show the status line", FrontEnd, Always),
    command("image", &[], "PATH", "Attach a picture to the next message", FrontEnd, Always),
    command("paste", &[], "", "Attach the picture on the clipboard", FrontEnd, Always),
    command("copy", &[], "[N]", "Copy the last answer to the clipboard, or the Nth from the end", FrontEnd, Always),
    command("clear", &[], "[--yes]", "Begin a new session on an empty screen", Program, Idle).confirmed(),
    command("redraw", &[], "", "Draw the screen again", FrontEnd, Always),
    command("reload", &[], "", "Read .env and config.yaml again", Program, Idle),
    command("reload-skills", &[], "", "Look for skills again", Program, Idle),
    command("sessions", &[], "…", "Choose a session; with words, the verb", Verb, Idle),
    command("sandbox", &[], "…", "Choose where commands run; with words, the verb", Verb, Idle),
    command("kanban", &[], "…", "The verb `hermes kanban`", Verb, Idle),
    command("config", &[], "…", "The verb `hermes config`", Verb, Idle),
    command("profile", &[], "…", "The verb `hermes profile`", Verb, Idle),
    command("tools", &["toolsets"], "…", "The verb `hermes tools`; a change begins a new session", Verb, Idle),
    command("skills", &[], "…", "The verb `hermes skills`", Verb, Idle),
    command("memory", &[], "…", "The verb `hermes memory`", Verb, Idle),
    command("insights", &[], "…", "The verb `hermes insights`", Verb, Idle),
    command("goal", &[], "[TEXT|pause|resume|clear|status]", "Work towards a goal, turn by turn, until it is reached", Program, Idle),
    command("subgoal", &[], "[TEXT|remove N|clear]", "Add to the goal, or take away from it", Program, Idle),
    command("quit", &["exit"], "[--delete]", "Leave; with --delete the session is removed", Program, Always),
];

/// Commands of Python Hermes that are known by name only.
pub const NOT_BUILT: &[&str] = &[
    "browser",
    "bundles",
    "codex-runtime",
    "cron",
    "curator",
    "debug",
    "footer",
    "gateway",
    "gquota",
    "handoff",
    "indicator",
    "platforms",
    "plugins",
    "reload-mcp",
    "skin",
    "update",
    "voice",
];
