use hermes_process::{Exit, Input, WindowSize, spawn};
use pretty_assertions::assert_eq;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::helpers::shell;

#[tokio::test]
async fn output_arrives_while_the_child_runs() {
    let process =
        spawn(shell("echo one; read -r line; echo \"got $line\" >&2; exit 5").stdin(Input::Pipe))
            .await
            .unwrap();
    let mut stdout = process.take_stdout().unwrap();
    let mut buffer = [0; 64];
    let count = stdout.read(&mut buffer).await.unwrap();
    assert_eq!(&buffer[..count], b"one\n");
    assert_eq!(process.try_wait().unwrap(), None);
    let mut stdin = process.take_stdin().unwrap();
    stdin.write_all(b"two\n").await.unwrap();
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).await.unwrap();
    assert_eq!(rest, "got two\n");
    assert_eq!(process.wait().await.unwrap(), Exit::Code(5));
    assert_eq!(process.wait().await.unwrap(), Exit::Code(5));
}

#[tokio::test]
async fn closing_the_input_is_its_end() {
    let process = spawn(shell("cat; echo end").stdin(Input::Pipe))
        .await
        .unwrap();
    drop(process.take_stdin());
    let mut text = String::new();
    process
        .take_stdout()
        .unwrap()
        .read_to_string(&mut text)
        .await
        .unwrap();
    assert_eq!(text, "end\n");
}

#[tokio::test]
async fn a_terminal_has_a_size_a_controlling_session_and_can_be_resized() {
    let size = WindowSize {
        rows: 30,
        columns: 120,
    };
    let process = spawn(
        shell("stty size; tty -s && echo terminal; trap 'stty size; exit 9' WINCH; echo ready; while :; do sleep 0.05; done")
            .terminal(size),
    )
    .await
    .unwrap();
    let mut stdout = process.take_stdout().unwrap();
    let mut seen = String::new();
    let mut buffer = [0; 256];
    while !seen.contains("ready") {
        let count = stdout.read(&mut buffer).await.unwrap();
        assert_ne!(count, 0, "{seen}");
        seen.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
    }
    assert_eq!(seen, "30 120\r\nterminal\r\nready\r\n");
    process
        .resizer()
        .unwrap()
        .resize(WindowSize {
            rows: 40,
            columns: 100,
        })
        .unwrap();
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).await.unwrap();
    assert_eq!(rest, "40 100\r\n");
    assert_eq!(process.wait().await.unwrap(), Exit::Code(9));
}

#[tokio::test]
async fn death_by_signal_is_told_as_such() {
    let process = spawn(shell("kill -SEGV $$")).await.unwrap();
    assert_eq!(process.wait().await.unwrap(), Exit::Signal(11));
    assert_eq!(process.wait().await.unwrap().shell_code(), 139);
}

#[tokio::test]
async fn sixteen_children_at_once_keep_their_output_apart() {
    let runs = (0..16).map(|number| async move {
        let process = spawn(shell(format!(
            "for i in {{1..200}}; do echo {number}; done"
        )))
        .await
        .unwrap();
        let mut text = String::new();
        process
            .take_stdout()
            .unwrap()
            .read_to_string(&mut text)
            .await
            .unwrap();
        process.wait().await.unwrap();
        text == format!("{number}\n").repeat(200)
    });
    let mut set = tokio::task::JoinSet::new();
    for run in runs {
        set.spawn(run);
    }
    assert_eq!(set.join_all().await, vec![true; 16]);
}
