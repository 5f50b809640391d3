//! What a dispatcher told this process about the task it is to work on.

use std::path::PathBuf;

use hermes_home::Environment;
use hermes_types::TaskId;

use crate::env;

/// Read from the environment; its presence makes a process a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    pub task: TaskId,
    /// Absent when a person set the task by hand.
    pub run: Option<i64>,
    pub lock: Option<String>,
    pub workspace: Option<PathBuf>,
    pub tenant: Option<String>,
    pub goal: Option<Goal>,
}

/// Work on until a judge is satisfied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goal {
    /// The first turn counts.
    pub max_turns: u32,
}

const DEFAULT_GOAL_TURNS: u32 = 20;

impl Assignment {
    pub fn of(environment: &Environment) -> Option<Self> {
        let task = TaskId::new(environment.get_non_empty(env::TASK)?);
        let number = |name| {
            environment
                .get_non_empty(name)
                .and_then(|text| text.parse().ok())
        };
        let goal = environment.is_truthy(env::GOAL_MODE).then(|| Goal {
            max_turns: number(env::GOAL_MAX_TURNS)
                .and_then(|turns: i64| u32::try_from(turns).ok())
                .filter(|turns| *turns > 0)
                .unwrap_or(DEFAULT_GOAL_TURNS),
        });
        Some(Self {
            task,
            run: number(env::RUN_ID),
            lock: environment
                .get_non_empty(env::CLAIM_LOCK)
                .map(str::to_owned),
            workspace: environment.get_non_empty(env::WORKSPACE).map(PathBuf::from),
            tenant: environment.get_non_empty(env::TENANT).map(str::to_owned),
            goal,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_task_makes_a_worker() {
        let mut environment = Environment::default();
        environment.set(env::RUN_ID, "5");
        assert_eq!(Assignment::of(&environment), None);
        environment.set(env::TASK, "t_00000001");
        let plain = Assignment::of(&environment).unwrap();
        assert_eq!((plain.run, plain.goal), (Some(5), None));
        environment.set(env::GOAL_MODE, "1");
        let goal = Assignment::of(&environment).unwrap().goal;
        assert_eq!(goal, Some(Goal { max_turns: 20 }));
    }
}
