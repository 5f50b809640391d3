//! The skill that workers load when it is there: what the prompt's few lines leave out.

use std::fs;
use std::io;

use hermes_home::{FileMode, Home, write_atomic};

const TEXT: &str = "\
---
name: kanban-worker
description: How to work on one task of a board, from reading it to handing it over
environments: [kanban]
---

# Working on a board task

1. `kanban_show` first. Read earlier attempts before you begin: a time-out means smaller steps, a crash
   means finding its cause, a block means that its answer is in the comments.
2. Work in the directory of `HERMES_KANBAN_WORKSPACE`. A worktree has a branch of its own
   (`HERMES_KANBAN_BRANCH`, otherwise `wt/<task>`): commit there, never on the main branch.
3. With `HERMES_TENANT` set, begin what you save to memory with that name, so that tenants stay apart.
4. A handover says in one to three sentences what is true now. Numbers, paths and identifiers that the next
   worker needs go into `metadata`; files worth keeping into `artifacts`, because a scratch directory goes
   when the task is done.
5. A question for a person is a block: details as a comment, the question as the reason.
";

/// Puts the skill into this home unless something of that name is there. Gives back
/// whether it did.
pub fn seed_worker_skill(home: &Home) -> io::Result<bool> {
    let directory = home.join("skills/devops/kanban-worker");
    if directory.exists() {
        return Ok(false);
    }
    fs::create_dir_all(&directory)?;
    write_atomic(&directory.join("SKILL.md"), TEXT.as_bytes(), FileMode::Keep)?;
    Ok(true)
}
