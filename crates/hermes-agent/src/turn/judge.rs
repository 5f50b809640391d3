//! What to do with an answer: the table of cases as a pure function. Counters
//! live for one turn; the loop does what the verdict says.

use hermes_types::ToolCall;

use super::response::{Finish, Response};
use crate::repair::{Arguments, looks_cut_off, read_arguments};
use crate::scrub::final_text;

const DEFAULT_OUTPUT: u32 = 4096;
const LARGEST_BOOST: u32 = 32_768;
const MAX_CONTINUATIONS: u32 = 2;
const MAX_TRUNCATED_CALLS: u32 = 3;
const MAX_INCOMPLETE: u32 = 3;
const MAX_SCRATCHPAD: u32 = 2;
const MAX_UNKNOWN_NAMES: u32 = 3;
const MAX_INVALID_JSON: u32 = 2;
const MAX_THINKING_ONLY: u32 = 2;
const MAX_EMPTY: u32 = 3;
const MAX_PROMISES: u32 = 2;

/// What the loop knows besides the answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts<'a> {
    pub tools: Vec<&'a str>,
    /// What was asked for; the provider's default when absent.
    pub max_output_tokens: Option<u32>,
    /// One of the last five messages is a tool result.
    pub recent_tool_result: bool,
    /// The text that came with the last batch, if that was only housekeeping.
    pub housekeeping_text: Option<String>,
    /// A GLM model on a local server: it says `stop` when it means `length`.
    pub stops_early: bool,
    /// The Responses dialect, whose models like to announce work.
    pub announces: bool,
    /// Tools have run in this turn.
    pub used_tools: bool,
}

/// How often each repair was tried in this turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tries {
    continuations: u32,
    truncated_calls: u32,
    incomplete: u32,
    last_interim: String,
    scratchpad: u32,
    unknown_names: u32,
    invalid_json: u32,
    thinking_only: u32,
    empty: u32,
    nudged: bool,
    promises: u32,
    fell_back: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Verdict {
    /// The turn is done.
    Answer(String),
    /// Run the calls; names and arguments are in order.
    RunTools,
    /// Store the answer, give every call a result that says what was wrong.
    Correct(Vec<(ToolCall, String)>),
    /// Send the same again, perhaps with more room.
    Resend { max_output_tokens: Option<u32> },
    /// The text was cut: keep it and ask for the rest.
    Continue { max_output_tokens: u32 },
    /// Keep the interim text and go on.
    GoOn,
    /// Say that something is expected.
    Nudge,
    /// Ask to do what was announced.
    KeepPromise,
    /// Try another model, for this reason.
    FallBack(&'static str),
    /// The turn ends without a whole answer.
    Stop { partial: bool, why: String },
}

/// Judges one answer. `calls` of the response already carry repaired names.
pub(super) fn judge(response: &Response, tries: &mut Tries, facts: &Facts<'_>) -> Verdict {
    let verdict = decide(response, tries, facts);
    match &verdict {
        Verdict::RunTools => {
            let nudged = tries.nudged;
            let promises = tries.promises;
            let continuations = tries.continuations;
            *tries = Tries {
                nudged,
                promises,
                continuations,
                ..Tries::default()
            };
        }
        Verdict::Correct(_) | Verdict::Resend { .. } | Verdict::FallBack(_) => {}
        _ => tries.unknown_names = 0,
    }
    verdict
}

fn decide(response: &Response, tries: &mut Tries, facts: &Facts<'_>) -> Verdict {
    if response.finish == Finish::ContentFilter
        && (!response.calls.is_empty() || response.text.trim().is_empty())
    {
        return refused(tries);
    }
    if response.finish == Finish::Length {
        if !response.calls.is_empty() {
            return truncated_calls(tries, facts).unwrap_or_else(|| {
                partial("the answer was cut off in the middle of a tool call, several times in a row; ask for smaller steps or raise model.max_tokens")
            });
        }
        if !response.text.trim().is_empty() {
            return continuation(response, tries, facts);
        }
        if response.has_reasoning() {
            return partial(
                "the model used its whole output budget for reasoning and wrote no answer; raise model.max_tokens or lower the reasoning effort",
            );
        }
    }
    if response.scratchpad_open && response.calls.is_empty() {
        tries.scratchpad += 1;
        return if tries.scratchpad <= MAX_SCRATCHPAD {
            Verdict::Resend {
                max_output_tokens: None,
            }
        } else {
            partial("the model began to think aloud and never came to an answer")
        };
    }
    if !response.calls.is_empty() {
        return judge_calls(response, tries, facts);
    }
    if response.finish == Finish::Incomplete {
        return incomplete(response, tries);
    }
    let text = final_text(&response.text);
    if text.is_empty() {
        return empty(response, tries, facts);
    }
    if facts.stops_early && facts.used_tools && breaks_off(&text) {
        return continuation(response, tries, facts);
    }
    if facts.announces && !facts.used_tools && is_promise(&text) && tries.promises < MAX_PROMISES {
        tries.promises += 1;
        return Verdict::KeepPromise;
    }
    Verdict::Answer(text)
}

fn judge_calls(response: &Response, tries: &mut Tries, facts: &Facts<'_>) -> Verdict {
    let known = |call: &ToolCall| facts.tools.contains(&call.name.as_str());
    if !response.calls.iter().all(known) {
        tries.unknown_names += 1;
        if tries.unknown_names >= MAX_UNKNOWN_NAMES {
            let names: Vec<&str> = response
                .calls
                .iter()
                .filter(|call| !known(call))
                .map(|call| call.name.as_str())
                .collect();
            return partial(&format!(
                "the model keeps calling tools that do not exist ({})",
                names.join(", ")
            ));
        }
        return Verdict::Correct(
            response
                .calls
                .iter()
                .map(|call| {
                    let text = if known(call) {
                        "Not run: another call of this answer named a tool that does not exist. Call it again.".to_owned()
                    } else {
                        format!(
                            "Tool '{}' does not exist. Available tools: {}",
                            call.name,
                            facts.tools.join(", ")
                        )
                    };
                    (call.clone(), text)
                })
                .collect(),
        );
    }
    let broken: Vec<(&ToolCall, String)> = response
        .calls
        .iter()
        .filter_map(|call| match read_arguments(&call.arguments) {
            Arguments::Object(_) => None,
            Arguments::Broken(why) => Some((call, why)),
        })
        .collect();
    if broken.is_empty() {
        return Verdict::RunTools;
    }
    // Cut off without saying so: more room may help before the model is told.
    if broken
        .iter()
        .any(|(call, _)| looks_cut_off(&call.arguments))
        && let Some(verdict) = truncated_calls(tries, facts)
    {
        return verdict;
    }
    if tries.invalid_json < MAX_INVALID_JSON {
        tries.invalid_json += 1;
        return Verdict::Resend {
            max_output_tokens: None,
        };
    }
    tries.invalid_json = 0;
    tries.truncated_calls = 0;
    Verdict::Correct(
        response
            .calls
            .iter()
            .map(|call| {
                let why = broken
                    .iter()
                    .find(|(other, _)| other.id == call.id)
                    .map_or_else(
                        || "Not run: another call of this answer had invalid arguments. Call it again.".to_owned(),
                        |(_, why)| {
                            format!(
                                "{}\nNot run: {why}. Send the complete arguments as one JSON object.",
                                crate::repair::UNREADABLE
                            )
                        },
                    );
                (call.clone(), why)
            })
            .collect(),
    )
}

fn truncated_calls(tries: &mut Tries, facts: &Facts<'_>) -> Option<Verdict> {
    tries.truncated_calls += 1;
    (tries.truncated_calls <= MAX_TRUNCATED_CALLS).then(|| Verdict::Resend {
        max_output_tokens: Some(boosted(facts, tries.truncated_calls)),
    })
}

fn continuation(response: &Response, tries: &mut Tries, facts: &Facts<'_>) -> Verdict {
    tries.continuations += 1;
    if tries.continuations > MAX_CONTINUATIONS {
        return partial(if response.broke {
            "the connection broke again after the answer was continued twice"
        } else {
            "the answer was cut off again after it was continued twice"
        });
    }
    Verdict::Continue {
        max_output_tokens: boosted(facts, tries.continuations),
    }
}

/// Room for the `n`-th try: a multiple of what there was, within reason.
fn boosted(facts: &Facts<'_>, n: u32) -> u32 {
    let base = facts.max_output_tokens.unwrap_or(DEFAULT_OUTPUT);
    let ceiling = LARGEST_BOOST.max(facts.max_output_tokens.unwrap_or(0));
    base.saturating_mul(n + 1).min(ceiling)
}

fn incomplete(response: &Response, tries: &mut Tries) -> Verdict {
    tries.incomplete += 1;
    if tries.incomplete >= MAX_INCOMPLETE {
        return partial("the provider ended three answers in a row as incomplete");
    }
    let interim = response.text.trim().to_owned();
    if interim.is_empty() || interim == tries.last_interim {
        return Verdict::Resend {
            max_output_tokens: None,
        };
    }
    tries.last_interim = interim;
    Verdict::GoOn
}

/// A refusal is an answer that asking again does not change; another model may
/// think otherwise.
fn refused(tries: &mut Tries) -> Verdict {
    if !std::mem::replace(&mut tries.fell_back, true) {
        return Verdict::FallBack("the model refused to answer");
    }
    Verdict::Stop {
        partial: false,
        why: "the model refused to answer (content filter); ask in other words or choose another model".to_owned(),
    }
}

fn empty(response: &Response, tries: &mut Tries, facts: &Facts<'_>) -> Verdict {
    if let Some(text) = &facts.housekeeping_text {
        return Verdict::Answer(text.clone());
    }
    if facts.recent_tool_result && !tries.nudged {
        tries.nudged = true;
        return Verdict::Nudge;
    }
    let again = Verdict::Resend {
        max_output_tokens: None,
    };
    if response.has_reasoning() {
        if tries.thinking_only < MAX_THINKING_ONLY {
            tries.thinking_only += 1;
            return again;
        }
    } else if tries.empty < MAX_EMPTY {
        tries.empty += 1;
        return again;
    }
    if !tries.fell_back {
        tries.fell_back = true;
        return Verdict::FallBack("empty answers");
    }
    Verdict::Stop {
        partial: false,
        why: if response.has_reasoning() {
            "the model thought but wrote no answer, several times in a row".to_owned()
        } else {
            "the model returned an empty answer, several times in a row".to_owned()
        },
    }
}

fn partial(why: &str) -> Verdict {
    Verdict::Stop {
        partial: true,
        why: why.to_owned(),
    }
}

/// A text of some length that ends in the middle of a sentence.
fn breaks_off(text: &str) -> bool {
    let ends = [
        '.', '!', '?', ':', ';', ')', ']', '}', '`', '"', '\'', '*', '…', '。', '！', '？', '”',
        '»',
    ];
    text.chars().count() >= 20 && text.contains(char::is_whitespace) && !text.ends_with(ends)
}

/// A short text that only says what will be done to files or code.
fn is_promise(text: &str) -> bool {
    if text.chars().count() > 1200 {
        return false;
    }
    let lowered = text.to_lowercase();
    let will = [
        "i'll ",
        "i’ll ",
        "i will ",
        "let me ",
        "i'm going to ",
        "next, i",
    ];
    let work = [
        "file",
        "code",
        "repo",
        "director",
        "workspace",
        "project",
        "test",
        "command",
        "build",
        "folder",
        "inspect",
        "search",
    ];
    will.iter().any(|phrase| lowered.contains(phrase))
        && work.iter().any(|word| lowered.contains(word))
        && !lowered.trim_end().ends_with('?')
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn facts() -> Facts<'static> {
        Facts {
            tools: vec!["patch", "terminal"],
            ..Facts::default()
        }
    }

    fn text(text: &str, finish: Finish) -> Response {
        Response {
            text: text.into(),
            finish,
            ..Response::default()
        }
    }

    fn calling(name: &str, arguments: &str, finish: Finish) -> Response {
        Response {
            calls: vec![ToolCall {
                id: "a".into(),
                name: name.into(),
                arguments: arguments.into(),
                extra: None,
            }],
            finish,
            ..Response::default()
        }
    }

    fn verdicts(response: &Response, facts: &Facts<'_>, count: usize) -> Vec<Verdict> {
        let mut tries = Tries::default();
        (0..count)
            .map(|_| judge(response, &mut tries, facts))
            .collect()
    }

    fn is_stop(verdict: &Verdict, wanted: bool) -> bool {
        matches!(verdict, Verdict::Stop { partial, .. } if *partial == wanted)
    }

    const AGAIN: Verdict = Verdict::Resend {
        max_output_tokens: None,
    };

    fn room(tokens: u32) -> Verdict {
        Verdict::Resend {
            max_output_tokens: Some(tokens),
        }
    }

    #[test]
    fn plain_text_is_the_answer() {
        assert_eq!(
            verdicts(
                &text(" hello <tool_call>x</tool_call>", Finish::Stop),
                &facts(),
                1
            ),
            [Verdict::Answer("hello".into())]
        );
    }

    #[test]
    fn cut_text_is_continued_twice_with_growing_room() {
        let all = verdicts(&text("half", Finish::Length), &facts(), 3);
        assert_eq!(
            all[..2],
            [
                Verdict::Continue {
                    max_output_tokens: 8192
                },
                Verdict::Continue {
                    max_output_tokens: 12288
                }
            ]
        );
        assert!(is_stop(&all[2], true));
    }

    #[test]
    fn room_never_grows_beyond_reason() {
        let large = Facts {
            max_output_tokens: Some(20_000),
            ..facts()
        };
        assert_eq!(
            verdicts(&text("half", Finish::Length), &large, 1),
            [Verdict::Continue {
                max_output_tokens: 32_768
            }]
        );
        let larger = Facts {
            max_output_tokens: Some(60_000),
            ..facts()
        };
        assert_eq!(
            verdicts(&text("half", Finish::Length), &larger, 1),
            [Verdict::Continue {
                max_output_tokens: 60_000
            }]
        );
    }

    #[test]
    fn reasoning_that_ate_the_budget_is_explained() {
        let response = Response {
            reasoning: "hm".into(),
            finish: Finish::Length,
            ..Response::default()
        };
        assert!(is_stop(&verdicts(&response, &facts(), 1)[0], true));
    }

    #[test]
    fn cut_calls_are_sent_again_and_never_run() {
        let all = verdicts(
            &calling("terminal", "{\"command\":\"ls\"}", Finish::Length),
            &facts(),
            4,
        );
        assert_eq!(all[..3], [room(8192), room(12288), room(16384)]);
        assert!(is_stop(&all[3], true));
    }

    #[test]
    fn incomplete_answers_go_on_until_the_third() {
        let mut tries = Tries::default();
        assert_eq!(
            judge(&text("one", Finish::Incomplete), &mut tries, &facts()),
            Verdict::GoOn
        );
        assert_eq!(
            judge(&text("one", Finish::Incomplete), &mut tries, &facts()),
            AGAIN
        );
        assert!(is_stop(
            &judge(&text("two", Finish::Incomplete), &mut tries, &facts()),
            true
        ));
    }

    #[test]
    fn an_open_scratchpad_is_tried_twice_more() {
        let response = Response {
            scratchpad_open: true,
            ..Response::default()
        };
        let all = verdicts(&response, &facts(), 3);
        assert_eq!(all[..2], [AGAIN, AGAIN]);
        assert!(is_stop(&all[2], true));
    }

    #[test]
    fn a_local_glm_that_breaks_off_is_continued() {
        let glm = Facts {
            stops_early: true,
            used_tools: true,
            ..facts()
        };
        let cut = text("The file has been changed and the", Finish::Stop);
        assert_eq!(
            verdicts(&cut, &glm, 1),
            [Verdict::Continue {
                max_output_tokens: 8192
            }]
        );
        let whole = text("The file has been changed and all is well.", Finish::Stop);
        assert!(matches!(verdicts(&whole, &glm, 1)[0], Verdict::Answer(_)));
        assert!(matches!(verdicts(&cut, &facts(), 1)[0], Verdict::Answer(_)));
    }

    #[test]
    fn unknown_names_are_answered_with_the_list_and_fail_at_the_third() {
        let mut response = calling("nonsense", "{}", Finish::Stop);
        response.calls.push(ToolCall {
            id: "b".into(),
            name: "patch".into(),
            arguments: "{}".into(),
            extra: None,
        });
        let all = verdicts(&response, &facts(), 3);
        let Verdict::Correct(results) = &all[0] else {
            panic!("{:?}", all[0])
        };
        assert_eq!(
            results[0].1,
            "Tool 'nonsense' does not exist. Available tools: patch, terminal"
        );
        assert!(results[1].1.starts_with("Not run"));
        assert!(is_stop(&all[2], true));
    }

    #[test]
    fn a_good_call_in_between_resets_the_count() {
        let mut tries = Tries::default();
        let bad = calling("nonsense", "{}", Finish::Stop);
        for _ in 0..5 {
            judge(&bad, &mut tries, &facts());
            judge(&bad, &mut tries, &facts());
            assert_eq!(
                judge(&calling("patch", "{}", Finish::Stop), &mut tries, &facts()),
                Verdict::RunTools
            );
        }
    }

    #[test]
    fn invalid_arguments_are_asked_for_again_and_then_explained() {
        let all = verdicts(&calling("patch", "{a:1}", Finish::Stop), &facts(), 3);
        assert_eq!(all[..2], [AGAIN, AGAIN]);
        let Verdict::Correct(results) = &all[2] else {
            panic!("{:?}", all[2])
        };
        assert!(results[0].1.contains("not valid JSON"), "{}", results[0].1);
    }

    #[test]
    fn arguments_cut_without_notice_get_room_first_and_words_later() {
        let all = verdicts(&calling("patch", "{\"a\":\"b", Finish::Stop), &facts(), 6);
        assert_eq!(
            all[..5],
            [room(8192), room(12288), room(16384), AGAIN, AGAIN]
        );
        assert!(matches!(all[5], Verdict::Correct(_)));
    }

    #[test]
    fn arguments_that_can_be_mended_are_run() {
        assert_eq!(
            verdicts(&calling("patch", "{\"a\":1,", Finish::Stop), &facts(), 1),
            [Verdict::RunTools]
        );
    }

    #[test]
    fn refusals_are_not_bought_again() {
        let refused = Response {
            finish: Finish::ContentFilter,
            ..Response::default()
        };
        // Not even where an empty answer would be nudged.
        let after_tool = Facts {
            recent_tool_result: true,
            ..facts()
        };
        let all = verdicts(&refused, &after_tool, 2);
        assert_eq!(all[0], Verdict::FallBack("the model refused to answer"));
        assert!(is_stop(&all[1], false));
        let calling = calling("terminal", "{}", Finish::ContentFilter);
        assert!(matches!(
            verdicts(&calling, &facts(), 1)[0],
            Verdict::FallBack(_)
        ));
        let said = text("No.", Finish::ContentFilter);
        assert_eq!(
            verdicts(&said, &facts(), 1),
            [Verdict::Answer("No.".into())]
        );
    }

    #[test]
    fn emptiness_climbs_its_ladder() {
        let nothing = Response::default();
        let after_tool = Facts {
            recent_tool_result: true,
            ..facts()
        };
        let all = verdicts(&nothing, &after_tool, 6);
        assert_eq!(all[0], Verdict::Nudge);
        assert_eq!(all[1..4], [AGAIN, AGAIN, AGAIN]);
        assert_eq!(all[4], Verdict::FallBack("empty answers"));
        assert!(is_stop(&all[5], false));

        let housekeeping = Facts {
            housekeeping_text: Some("Saved.".into()),
            ..facts()
        };
        assert_eq!(
            verdicts(&nothing, &housekeeping, 1),
            [Verdict::Answer("Saved.".into())]
        );

        let thinking = Response {
            reasoning: "hm".into(),
            ..Response::default()
        };
        let all = verdicts(&thinking, &facts(), 4);
        assert_eq!(all[..2], [AGAIN, AGAIN]);
        assert_eq!(all[2], Verdict::FallBack("empty answers"));
        assert!(is_stop(&all[3], false));
    }

    #[test]
    fn an_announcement_is_held_to_its_word_twice() {
        let announcing = Facts {
            announces: true,
            ..facts()
        };
        let promise = text("I'll inspect the repository files now.", Finish::Stop);
        let all = verdicts(&promise, &announcing, 3);
        assert_eq!(all[..2], [Verdict::KeepPromise, Verdict::KeepPromise]);
        assert!(matches!(all[2], Verdict::Answer(_)));
        assert!(matches!(
            verdicts(&promise, &facts(), 1)[0],
            Verdict::Answer(_)
        ));
    }
}
