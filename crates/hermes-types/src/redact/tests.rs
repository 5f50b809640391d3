use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;

fn text(input: &str) -> String {
    redact(input, Redaction::Text).into_owned()
}

#[test]
fn known_tokens_keep_six_and_four_characters() {
    assert_eq!(
        text("key sk-abcdefghijklmnop3456 end"),
        "key sk-abc...3456 end"
    );
    assert_eq!(
        text("api_key='sk-abcdefghijklmnop3456'"),
        "api_key='sk-abc...3456'"
    );
    assert_eq!(text("ghp_0123456789"), "***");
    assert_eq!(text("use AKIAIOSFODNN7EXAMPLE."), "use AKIAIO...MPLE.");
}

#[test]
fn an_escape_beside_a_secret_does_not_hide_it() {
    assert_eq!(
        text(
            r"a\nsk-proj-abcdefghijklmnop3456\tghp_abcdefghijklmnop3456\nAKIAIOSFODNN7EXAMPLE\r\n"
        ),
        r"a\nsk-pro...3456\tghp_ab...3456\nAKIAIO...MPLE\r\n"
    );
    for (given, expected) in [
        (
            r#"{"a":"x\u0009ghp_abcdefghijklmnop3456\"","#,
            r#"{"a":"x\u0009ghp_ab...3456\"","#,
        ),
        (r"a\\nsk-abcdefghijklmnop3456\\n", r"a\\nsk-abc...3456\\n"),
        (
            "\u{1b}[31msk-abcdefghijklmnop3456\u{1b}[0m",
            "\u{1b}[31msk-abc...3456\u{1b}[0m",
        ),
        (r"x\nMY_API_KEY=abc\nnext", r"x\nMY_API_KEY=***\nnext"),
        (
            r"x\neyJhbGciOiJI.eyJzdWIiOiI.c2lnbmF0dXJl\n",
            r"x\neyJhbG...dXJl\n",
        ),
        (r"call\n+14155551234\n", r"call\n+141****1234\n"),
        (
            r"https://x.example/a\nsk-abcdefghijklmnop3456",
            r"https://x.example/a\nsk-abc...3456",
        ),
        (r#"{\"token\": \"hunter2\"}"#, r#"{\"token\": \"***\"}"#),
        (
            r#""Authorization": "Bearer abcdefghijklmnopqrstuvwx""#,
            r#""Authorization": "Bearer abcdef...uvwx""#,
        ),
    ] {
        assert_eq!(text(given), expected, "{given}");
        assert_eq!(text(expected), expected, "a second time");
    }
}

#[test]
fn a_key_block_that_lost_its_beginning_is_masked() {
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEA";
    let cut = format!("…\n{line}\n{line}\nAbCdEfGh12==\n-----END PRIVATE KEY-----\nrest");
    assert_eq!(text(&cut), "…\n[REDACTED PRIVATE KEY]\nrest");
}

#[test]
fn a_prefix_inside_a_word_is_no_token() {
    for harmless in [
        "task-force-planning-board",
        "asksk_not_a_token_here",
        "risk-0123456789abc",
        "team_0123456789abc",
    ] {
        assert_eq!(text(harmless), harmless);
    }
}

#[test]
fn assignments_count_in_text_and_not_in_code() {
    assert_eq!(text("OPENAI_API_KEY=abc123"), "OPENAI_API_KEY=***");
    assert_eq!(
        text("DB_PASSWORD=\"correct horse battery\""),
        "DB_PASSWORD=\"correc...tery\""
    );
    assert_eq!(text("TOKEN=$OTHER"), "TOKEN=$OTHER");
    let code = "MAX_TOKENS=4096";
    assert_eq!(redact(code, Redaction::Code), code);
}

#[test]
fn shapes_are_masked() {
    assert_eq!(text("postgres://u:hunter2@h/db"), "postgres://u:***@h/db");
    assert_eq!(
        text("Authorization: Bearer abcdefghijklmnopqrstuvwx"),
        "Authorization: Bearer abcdef...uvwx"
    );
    assert_eq!(text("call +14155551234 now"), "call +141****1234 now");
    assert_eq!(
        text("{\"access_token\": \"abc\"}"),
        "{\"access_token\": \"***\"}"
    );
    assert_eq!(
        text("grant_type=x&client_secret=abc"),
        "grant_type=x&client_secret=***"
    );
    assert_eq!(
        text("123456789:AAbbccddeeffgghhiijjkkllmmnnoopp"),
        "123456789:***"
    );
    assert_eq!(
        text("a\n-----BEGIN RSA PRIVATE KEY-----\nxx\n-----END RSA PRIVATE KEY-----\nb"),
        "a\n[REDACTED PRIVATE KEY]\nb"
    );
    assert_eq!(text("eyJhbGciOi.eyJzdWIiOiIx.c2ln"), "eyJhbG...c2ln");
}

#[test]
fn a_key_block_without_an_end_is_masked_to_the_end() {
    assert_eq!(
        text("-----BEGIN PRIVATE KEY-----\nabc"),
        "[REDACTED PRIVATE KEY]"
    );
}

#[test]
fn web_addresses_pass_unharmed() {
    for url in [
        "https://host/login?token=eyJhbGciOi.eyJzdWIiOiIx.c2ln&key=sk-abcdefghijklmnop3456",
        "see <https://bucket/x?X-Amz-Credential=AKIAIOSFODNN7EXAMPLE/2026>",
    ] {
        assert_eq!(text(url), url);
    }
}

#[test]
fn a_token_in_front_of_the_at_sign_is_no_part_of_the_address() {
    assert_eq!(
        text("https://x:ghp_abcdefghijklmnopqrst@github.com/a/b"),
        "https://x:ghp_ab...qrst@github.com/a/b"
    );
}

#[test]
fn numbers_that_are_no_phone_numbers_stay() {
    for harmless in ["1+12345678", "+12", "v1.+2", "a+14155551234"] {
        assert_eq!(text(harmless), harmless);
    }
    assert_eq!(redact("x +14155551234", Redaction::Code), "x +14155551234");
}

proptest! {
    #[test]
    fn masking_twice_changes_nothing(input in "[ -~\n]{0,200}") {
        for mode in [Redaction::Text, Redaction::Code] {
            let once = redact(&input, mode).into_owned();
            let twice = redact(&once, mode).into_owned();
            prop_assert_eq!(once, twice);
        }
    }

    #[test]
    fn a_token_never_survives(
        before in "[ a-z\n=:\"]{0,20}",
        prefix in prop::sample::select(scan::PREFIXES.to_vec()),
        body in "[A-Z0-9]{40}",
        after in "[ \n\",;]{0,3}",
    ) {
        let secret = format!("{}{body}", prefix.0);
        let input = format!("{before} {secret}{after}");
        for mode in [Redaction::Text, Redaction::Code] {
            prop_assert!(!redact(&input, mode).contains(&secret));
        }
    }

    #[test]
    fn any_text_is_accepted(input in "(https?://|sk-|TOKEN=|@|\\PC){0,20}") {
        redact(&input, Redaction::Text);
        redact(&input, Redaction::Code);
    }
}

#[test]
fn a_json_result_is_masked_text_by_text() {
    let result = r#"{"output":"one\nghp_abcdefghijklmnopqrst\nsee https://h/x\nFOO_TOKEN=abc\nnext line","exit_code":0,"n":1.50}"#;
    assert_eq!(
        redact_result(result, Redaction::Text),
        r#"{"output":"one\nghp_ab...qrst\nsee https://h/x\nFOO_TOKEN=***\nnext line","exit_code":0,"n":1.5}"#
    );
    let field = r#"{"token":"short","name":"x"} and sk-abcdefghijklmnop3456"#;
    assert_eq!(
        redact_result(field, Redaction::Text),
        r#"{"token":"***","name":"x"} and sk-abc...3456"#
    );
    let harmless =
        r#"{ "content": "1|let token = get();\n2|https://h/?token=sk-abcdefghijklmnop3456" }"#;
    assert_eq!(redact_result(harmless, Redaction::Code), harmless);
    assert_eq!(
        redact_result("[broken sk-abcdefghijklmnop3456", Redaction::Text),
        "[broken sk-abc...3456"
    );
}
