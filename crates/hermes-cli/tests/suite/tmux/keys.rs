//! `hermes auth` and `hermes tools`, with a person.

use hermes_testkit::tmux::Terminal;
use pretty_assertions::assert_eq;

use super::super::support::Scratch;

#[test]
fn keys_are_stored_and_removed_in_a_menu() {
    let scratch = Scratch::new();
    let menu = Terminal::start(&scratch.command(["auth"]), 80, 24);
    menu.wait_for("Store a key");
    menu.keys(&["Enter"]).wait_for("Whose key?");
    menu.type_text("deepseek").keys(&["Enter"]);
    menu.wait_for("API key for deepseek");
    menu.enter("sk-first").wait_for("deepseek #1");
    menu.keys(&["Enter"]).wait_for("Whose key?");
    menu.type_text("deepseek").keys(&["Enter"]);
    menu.wait_until("the second question", |screen| {
        screen.matches("API key for deepseek").count() == 2
    });
    menu.enter("sk-second").wait_for("deepseek #2");
    // The first of a pool is used first.
    let listed = scratch.ok(["auth", "list", "deepseek"]);
    assert!(
        listed.contains("api-key-1") && listed.contains("api-key-2"),
        "{listed}"
    );
    menu.type_text("api-key-1").keys(&["Enter"]);
    menu.wait_for("Remove it");
    menu.type_text("remove").keys(&["Enter"]);
    menu.wait_for("Removed deepseek credential #1");
    menu.keys(&["Escape"]);
    assert_eq!(menu.exit_code(), 0);
    let listed = scratch.ok(["auth", "list", "deepseek"]);
    assert!(!listed.contains("api-key-1"), "{listed}");
    assert!(!menu.scrollback().contains("sk-second"));
}

#[test]
fn a_hidden_question_that_is_left_gives_the_terminal_back() {
    let scratch = Scratch::new();
    let mut command = std::process::Command::new("sh");
    let hermes = scratch.command(["auth", "add", "openrouter"]);
    for (name, value) in hermes.get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    command.current_dir(scratch.user_home()).args([
        "-c",
        &format!(
            "{} auth add openrouter; echo code $?; stty -a",
            env!("CARGO_BIN_EXE_hermes")
        ),
    ]);
    let terminal = Terminal::start(&command, 80, 24);
    terminal.wait_for("API key for openrouter");
    terminal.type_text("half a ke").keys(&["C-c"]);
    terminal.wait_for("code 130");
    let screen = terminal.wait_for("isig");
    assert!(
        screen.contains(" echo ") && !screen.contains("-isig") && !screen.contains("half a ke"),
        "{screen}"
    );
    assert!(!scratch.exists("auth.json"));
}

#[test]
fn tools_are_switched_per_platform_and_foreign_names_stay() {
    let scratch = Scratch::new();
    scratch.write(
        "config.yaml",
        "platform_toolsets:\n  telegram: [hermes-telegram, my-server]\nmcp_servers:\n  my-server: {command: x}\n",
    );
    let tools = Terminal::start(&scratch.command(["tools"]), 80, 24);
    tools.wait_for("Whose tools?");
    tools.type_text("telegram").keys(&["Enter"]);
    tools.wait_for("Which tools does telegram have?");
    tools.type_text("web").wait_for("❯ [x] web");
    tools.keys(&["Enter"]).wait_for("Keep it like this");
    tools.keys(&["Enter"]).wait_for("Disabled: web");
    assert_eq!(tools.exit_code(), 0);
    let listed = scratch.ok(["tools", "list", "--platform", "telegram"]);
    assert!(
        listed.contains("✗ disabled  web") && listed.contains("✓ enabled  terminal"),
        "{listed}"
    );
    assert!(scratch.read("config.yaml").contains("my-server\n"));
    assert!(scratch.ok(["tools", "list"]).contains("✓ enabled  web"));
    let tools = Terminal::start(&scratch.command(["tools"]), 80, 24);
    tools.wait_for("Whose tools?");
    tools.keys(&["C-c"]);
    assert_eq!(tools.exit_code(), 130);
}
