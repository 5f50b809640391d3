//! `hermes chat`, and `-z`: conversations, those that run to their end by
//! themselves and those with a person.

mod beginning;
mod input;
mod interactive;
mod oneshot;
mod resume;
mod run;
mod show;
mod worker;
mod worktree;

use std::io::IsTerminal;
use std::path::PathBuf;

pub(crate) use oneshot::oneshot;

use crate::cli::RunOptions;
use crate::{CommandError, Context, Exit, Out};

#[derive(clap::Args, Debug, Default)]
pub(crate) struct Args {
    /// Ask this and exit
    #[arg(short = 'q', long, value_name = "TEXT")]
    pub(crate) query: Option<String>,

    /// Attach this picture to the query, or to the first message of the chat
    #[arg(long, value_name = "PATH")]
    pub(crate) image: Option<PathBuf>,

    /// Only the answer on stdout
    #[arg(short = 'Q', long)]
    pub(crate) quiet: bool,

    /// Show reasoning and whole results
    #[arg(short = 'v', long)]
    pub(crate) verbose: bool,

    /// Tool rounds per turn [config: agent.max_turns]
    #[arg(long, value_name = "N")]
    pub(crate) max_turns: Option<u32>,

    /// Keep a snapshot of files before they are changed, for `/rollback`
    #[arg(long)]
    pub(crate) checkpoints: bool,

    /// Where the session is said to come from; `tool` hides it from lists
    #[arg(long, value_name = "TAG")]
    pub(crate) source: Option<String>,

    #[command(flatten)]
    pub(crate) run: RunOptions,
}

pub(crate) fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let options = args.run.clone().over(&context.global);
    let piped = input::piped_text()?;
    let query = match (&args.query, piped) {
        (Some(query), Some(piped)) => Some(format!("{query}\n\n{piped}")),
        (Some(query), None) => Some(query.clone()),
        (None, Some(piped)) => Some(piped),
        (None, None) => None,
    };
    let Some(query) = query else {
        if args.query.is_none() && std::io::stdin().is_terminal() {
            let start = interactive::Start {
                options,
                max_turns: args.max_turns,
                checkpoints: args.checkpoints,
                source: args.source,
                verbose: args.verbose,
                image: args.image,
            };
            return interactive::run(start, context, out);
        }
        return Err(
            CommandError::usage("there is nothing to ask: the input is empty")
                .hint("`hermes chat -q TEXT` asks once"),
        );
    };
    if query.trim().is_empty() {
        return Err(CommandError::usage("the query is empty"));
    }
    let how = if args.quiet {
        show::How::Quiet
    } else {
        show::How::Lines {
            verbose: args.verbose,
        }
    };
    run::run(
        run::Call {
            query,
            image: args.image,
            options,
            how,
            max_turns: args.max_turns,
            checkpoints: args.checkpoints,
            source: args.source,
        },
        context,
        out,
    )
}
