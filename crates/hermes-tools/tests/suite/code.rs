//! Scripts with a real interpreter in a real sandbox.

use std::time::Duration;

use hermes_tools::approval::Nobody;
use hermes_tools::code::{CodeLimits, ExecuteCodeTool};
use hermes_tools::{Registry, Tool};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::support::{Bed, bed_with};

const QUIET: &str = "terminal: {auto_source_bashrc: false}";

fn tool(bed: &Bed, change: impl FnOnce(&mut CodeLimits)) -> ExecuteCodeTool {
    let mut limits = CodeLimits::read(&hermes_config::Config::defaults()).unwrap();
    change(&mut limits);
    let mut registry = Registry::new();
    registry.add_shared(bed.terminal.clone());
    ExecuteCodeTool::new(bed.sandboxes.clone(), bed.gate.clone(), limits, &registry)
}

async fn run(bed: &Bed, tool: &ExecuteCodeTool, code: &str) -> Value {
    let output = tool.call(&bed.context, json!({ "code": code })).await;
    serde_json::from_str(&output.text).unwrap()
}

#[tokio::test]
async fn a_script_prints_and_fails_like_any_other() {
    let bed = bed_with(QUIET, None, Nobody::Allow);
    let tool = tool(&bed, |_| {});
    let good = run(
        &bed,
        &tool,
        "import sys\nprint('ü', 1)\nprint('quiet', file=sys.stderr)",
    )
    .await;
    assert_eq!(
        (&good["status"], &good["output"], &good["tool_calls_made"]),
        (&json!("success"), &json!("ü 1\n"), &json!(0))
    );
    let bad = run(&bed, &tool, "print('before')\nx = {}\nx['no']").await;
    assert_eq!(
        (&bad["status"], &bad["error"]),
        (&json!("error"), &json!("KeyError: 'no'"))
    );
    let output = bad["output"].as_str().unwrap();
    assert!(
        output.starts_with("before\n\n--- stderr ---\nTraceback") && output.contains("x['no']"),
        "{output}"
    );
    assert!(output.contains("script.py\", line 3"), "{output}");
    assert_eq!(
        run(&bed, &tool, "raise SystemExit(3)").await["error"],
        "the script ended with code 3"
    );
    assert_eq!(run(&bed, &tool, "def f(:").await["status"], "error");
    let input = run(&bed, &tool, "import sys; print(repr(sys.stdin.read()))").await;
    assert_eq!(input["output"], "''\n");
}

#[tokio::test]
async fn tools_are_called_and_counted_and_their_commands_looked_at() {
    let bed = bed_with(QUIET, None, Nobody::Allow);
    let two = tool(&bed, |limits| limits.tool_calls = 2);
    let code = "from hermes_tools import terminal, shell_quote\nbig = 'x' * 100000\nprint(len(terminal('printf %s ' + shell_quote(big[:9000]))['output']))\nprint(terminal('exit 4', background=None) if False else terminal('exit 4')['exit_code'])\nprint(terminal('true'))";
    let result = run(&bed, &two, code).await;
    assert_eq!(result["tool_calls_made"], 2, "{result}");
    let output = result["output"].as_str().unwrap();
    assert!(
        output.starts_with("9000\n4\n{'error': 'the limit of 2 tool calls"),
        "{output}"
    );
    let hardline = run(
        &bed,
        &tool(&bed, |_| {}),
        "from hermes_tools import terminal\nprint(terminal('rm -rf /')['status'])",
    )
    .await;
    assert_eq!(hardline["output"], "blocked\n");
    let missing = run(&bed, &two, "from hermes_tools import read_file").await;
    assert!(
        missing["error"]
            .as_str()
            .unwrap()
            .starts_with("ImportError"),
        "{missing}"
    );
}

#[tokio::test]
async fn threads_share_the_wire_and_noise_does_not_break_it() {
    let bed = bed_with(QUIET, None, Nobody::Allow);
    let code = "import threading, subprocess\nfrom hermes_tools import terminal\nnoise = subprocess.Popen(['sh', '-c', 'i=0; while [ $i -lt 300 ]; do echo noise; i=$((i+1)); done'])\nout = []\ndef one(n):\n    out.append(terminal('echo %d # %s' % (n, 'y' * 9000))['output'])\nts = [threading.Thread(target=one, args=(n,)) for n in range(4)]\n[t.start() for t in ts]\n[t.join() for t in ts]\nnoise.wait()\nprint('got', sorted(out))";
    let result = run(&bed, &tool(&bed, |_| {}), code).await;
    let output = result["output"].as_str().unwrap();
    assert!(output.ends_with("got ['0', '1', '2', '3']\n"), "{result}");
    assert_eq!(output.matches("noise\n").count(), 300);
}

#[tokio::test]
async fn time_and_interrupts_end_the_whole_tree() {
    let bed = bed_with(QUIET, None, Nobody::Allow);
    let short = tool(&bed, |limits| limits.timeout = Duration::from_secs(1));
    let marker = bed.directory.path().join("alive");
    let code = format!(
        "import subprocess\nprint('begun', flush=True)\nsubprocess.run(['sh', '-c', 'sleep 3; touch {}'])",
        marker.display()
    );
    let result = run(&bed, &short, &code).await;
    assert_eq!(result["status"], "timeout", "{result}");
    assert!(
        result["output"]
            .as_str()
            .unwrap()
            .starts_with("begun\n[the script was ended after 1 s")
    );
    bed.context.cancel.cancel();
    assert_eq!(run(&bed, &short, "print(1)").await["status"], "interrupted");
    assert!(!marker.exists());
}

#[tokio::test]
async fn a_script_starts_where_the_session_is_and_sees_no_secrets() {
    let bed = bed_with(QUIET, None, Nobody::Allow);
    bed.run("cd /usr").await;
    let tool = tool(&bed, |_| {});
    let code =
        "import os\nprint(os.getcwd(), [n for n in os.environ if 'KEY' in n])\nos.chdir('/')";
    assert_eq!(run(&bed, &tool, code).await["output"], "/usr []\n");
    assert_eq!(bed.run("pwd").await["output"], "/usr");
    let strict = self::tool(&bed, |limits| limits.strict = true);
    let alone = run(
        &bed,
        &strict,
        "import os\nopen('f', 'w').close()\nprint(os.getcwd())",
    )
    .await;
    let place = alone["output"].as_str().unwrap().trim();
    assert!(place.contains("/hermes_sandbox_"), "{alone}");
    assert!(!std::path::Path::new(place).exists());
}

#[tokio::test]
async fn nobody_there_and_no_permission_means_no_script() {
    let bed = bed_with(QUIET, None, Nobody::Deny);
    let refused = run(&bed, &tool(&bed, |_| {}), "print(1)").await;
    assert_eq!(
        (&refused["status"], &refused["outcome"]),
        (&json!("blocked"), &json!("denied"))
    );
}
