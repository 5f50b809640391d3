//! Who gets a worker this time. Pure: a walk over waiting tasks with caps, a
//! default assignee and the respawn guard, which fills the buckets of a result.

use std::collections::HashMap;

use hermes_types::TaskId;

use super::guard::{Reason, guard};
use crate::machine::Limit;
use crate::settings::Settings;
use crate::store::{Deferral, GuardFacts, ReadyTask};

/// How many may run. Every cap that is set binds; they do not add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caps {
    pub max_spawn: Option<usize>,
    pub max_in_progress: Option<usize>,
    pub per_profile: Option<usize>,
    /// What the machine's memory allows; only set by loops that run unattended.
    pub memory: Option<usize>,
}

impl Caps {
    pub fn of(settings: &Settings) -> Self {
        Self {
            max_spawn: settings.max_spawn,
            max_in_progress: settings.max_in_progress,
            per_profile: settings.max_in_progress_per_profile,
            memory: None,
        }
    }

    /// Free places, or `None` when nothing bounds them.
    pub fn slots(&self, running: usize) -> Option<usize> {
        [self.max_spawn, self.max_in_progress, self.memory]
            .into_iter()
            .flatten()
            .map(|cap| cap.saturating_sub(running))
            .min()
    }
}

/// A task that is to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    pub task: TaskId,
    pub assignee: String,
}

/// The state of one pass; candidates are offered to it page by page.
#[derive(Debug)]
pub struct Planner<'a> {
    pub caps: Caps,
    pub default_assignee: Option<String>,
    pub failure_limit: i64,
    pub cooldown: i64,
    pub now: i64,
    pub profile_exists: ProfileLookup<'a>,
    slots: Option<usize>,
    per_profile: HashMap<String, usize>,

    pub launch: Vec<Planned>,
    pub skipped_unassigned: Vec<TaskId>,
    pub auto_assigned: Vec<TaskId>,
    pub skipped_nonspawnable: Vec<TaskId>,
    pub capped: Vec<(TaskId, String, usize)>,
    pub guarded: Vec<(TaskId, &'static str)>,
    pub deferrals: Vec<Deferral>,
    /// Deferred once too often.
    pub give_up: Vec<(TaskId, String)>,
}

/// Looks a profile up once and remembers.
pub struct ProfileLookup<'a> {
    lookup: &'a dyn Fn(&str) -> bool,
    known: HashMap<String, bool>,
}

impl std::fmt::Debug for ProfileLookup<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProfileLookup")
            .field("known", &self.known)
            .finish_non_exhaustive()
    }
}

impl<'a> ProfileLookup<'a> {
    pub fn new(lookup: &'a dyn Fn(&str) -> bool) -> Self {
        Self {
            lookup,
            known: HashMap::new(),
        }
    }

    pub fn exists(&mut self, name: &str) -> bool {
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        let exists = (self.lookup)(name);
        self.known.insert(name.to_owned(), exists);
        exists
    }
}

impl<'a> Planner<'a> {
    /// `running`: who works on something already.
    pub fn new<'r>(
        caps: Caps,
        settings: &Settings,
        running: impl Iterator<Item = Option<&'r str>>,
        profile_exists: &'a dyn Fn(&str) -> bool,
        now: i64,
    ) -> Self {
        let mut per_profile: HashMap<String, usize> = HashMap::new();
        let mut count = 0;
        for assignee in running {
            count += 1;
            if let Some(name) = assignee {
                *per_profile.entry(name.to_owned()).or_default() += 1;
            }
        }
        let mut profile_exists = ProfileLookup::new(profile_exists);
        // A default that names no profile would only move tasks where nobody is.
        let default_assignee = settings
            .default_assignee
            .clone()
            .filter(|name| profile_exists.exists(name));
        Self {
            slots: caps.slots(count),
            caps,
            default_assignee,
            failure_limit: settings.failure_limit,
            cooldown: settings.rate_limit_cooldown,
            now,
            profile_exists,
            per_profile,
            launch: Vec::new(),
            skipped_unassigned: Vec::new(),
            auto_assigned: Vec::new(),
            skipped_nonspawnable: Vec::new(),
            capped: Vec::new(),
            guarded: Vec::new(),
            deferrals: Vec::new(),
            give_up: Vec::new(),
        }
    }

    pub fn is_full(&self) -> bool {
        self.slots == Some(0)
    }

    pub fn free_slots(&self) -> Option<usize> {
        self.slots
    }

    /// Offers ready tasks in their order; stops when all places are taken.
    pub fn offer_ready(&mut self, tasks: &[ReadyTask], facts: &HashMap<TaskId, GuardFacts>) {
        for task in tasks {
            if self.is_full() {
                return;
            }
            let assignee = match (&task.assignee, &self.default_assignee) {
                (Some(name), _) => name.clone(),
                (None, Some(default)) => {
                    self.auto_assigned.push(task.id.clone());
                    default.clone()
                }
                (None, None) => {
                    self.skipped_unassigned.push(task.id.clone());
                    continue;
                }
            };
            if !self.profile_exists.exists(&assignee) {
                self.skipped_nonspawnable.push(task.id.clone());
                continue;
            }
            let current = self.per_profile.get(&assignee).copied().unwrap_or(0);
            if self.caps.per_profile.is_some_and(|cap| current >= cap) {
                self.capped.push((task.id.clone(), assignee, current));
                continue;
            }
            let known = facts.get(&task.id);
            if let Some(reason) = guard(task, known, self.cooldown, self.now) {
                self.defer(task, known, reason);
                continue;
            }
            self.take(task.id.clone(), assignee);
        }
    }

    /// Offers tasks in review: no default, no cap per profile, no guard.
    pub fn offer_review(&mut self, tasks: &[ReadyTask]) {
        for task in tasks {
            if self.is_full() {
                return;
            }
            match &task.assignee {
                None => self.skipped_unassigned.push(task.id.clone()),
                Some(name) if !self.profile_exists.exists(name) => {
                    self.skipped_nonspawnable.push(task.id.clone());
                }
                Some(name) => self.take(task.id.clone(), name.clone()),
            }
        }
    }

    fn take(&mut self, task: TaskId, assignee: String) {
        *self.per_profile.entry(assignee.clone()).or_default() += 1;
        self.slots = self.slots.map(|slots| slots.saturating_sub(1));
        self.launch.push(Planned { task, assignee });
    }

    fn defer(&mut self, task: &ReadyTask, facts: Option<&GuardFacts>, reason: Reason) {
        let earlier = facts
            .and_then(|facts| facts.deferred.as_ref())
            .filter(|(known, _, _)| known == reason.as_str())
            .map(|(_, ticks, event)| (*event, *ticks));
        let ticks = earlier.map_or(1, |(_, ticks)| ticks + 1);
        let limit = Limit::resolve(task.max_retries, self.failure_limit).value;
        if reason == Reason::BlockerAuth && ticks > limit {
            let error = task.last_failure_error.clone().unwrap_or_default();
            self.give_up.push((task.id.clone(), error));
            return;
        }
        self.guarded.push((task.id.clone(), reason.as_str()));
        self.deferrals.push(Deferral {
            task: task.id.clone(),
            reason: reason.as_str(),
            known: earlier.map(|(event, ticks)| (event, ticks + 1)),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_config::Config;
    use hermes_home::Environment;

    fn settings(yaml: &str) -> Settings {
        Settings::read(&Config::from_yaml(yaml).unwrap(), &Environment::default())
    }

    fn waiting(count: usize, assignee: Option<&str>) -> Vec<ReadyTask> {
        (0..count)
            .map(|n| ReadyTask {
                id: TaskId::new(format!("t_{}{n}", assignee.unwrap_or("none"))),
                assignee: assignee.map(str::to_owned),
                failures: 0,
                max_retries: None,
                last_failure_error: None,
                priority: 0,
                created_at: 0,
            })
            .collect()
    }

    fn known(name: &str) -> bool {
        ["alpha", "beta", "default"].contains(&name)
    }

    fn plan<'a>(yaml: &str, running: &[&str], tasks: &[ReadyTask]) -> Planner<'a> {
        let settings = settings(yaml);
        let running = running.iter().map(|name| Some(*name));
        let mut planner = Planner::new(Caps::of(&settings), &settings, running, &known, 0);
        planner.offer_ready(tasks, &HashMap::new());
        planner
    }

    #[test]
    fn a_cap_per_profile_balances_two_profiles() {
        let mut tasks = waiting(5, Some("alpha"));
        tasks.extend(waiting(3, Some("beta")));
        let plan = plan("kanban:\n  max_in_progress_per_profile: 2\n", &[], &tasks);
        assert_eq!(plan.launch.len(), 4);
        assert_eq!(plan.capped.len(), 4);
        assert_eq!(plan.capped[0], (TaskId::new("t_alpha2"), "alpha".into(), 2));
    }

    #[test]
    fn running_tasks_count_towards_every_cap() {
        let tasks = waiting(5, Some("alpha"));
        let per_profile = plan(
            "kanban:\n  max_in_progress_per_profile: 2\n",
            &["alpha", "beta"],
            &tasks,
        );
        assert_eq!(per_profile.launch.len(), 1);
        let both = "kanban:\n  max_spawn: 10\n  max_in_progress: 5\n";
        assert_eq!(
            plan(both, &["beta", "beta", "beta"], &tasks).launch.len(),
            2
        );
        assert_eq!(
            plan("kanban:\n  max_spawn: 2\n", &["beta"; 3], &tasks)
                .launch
                .len(),
            0
        );
    }

    #[test]
    fn invalid_caps_are_none() {
        let tasks = waiting(5, Some("alpha"));
        for value in ["0", "-1", "text", "null"] {
            let yaml = format!("kanban:\n  max_in_progress_per_profile: {value}\n");
            assert_eq!(plan(&yaml, &[], &tasks).launch.len(), 5, "{value}");
        }
    }

    #[test]
    fn an_unassigned_task_needs_a_default_that_exists() {
        let tasks = waiting(1, None);
        assert_eq!(plan("", &[], &tasks).skipped_unassigned.len(), 1);
        let blank = plan("kanban:\n  default_assignee: '  '\n", &[], &tasks);
        assert_eq!(blank.skipped_unassigned.len(), 1);
        let unknown = plan("kanban:\n  default_assignee: nobody\n", &[], &tasks);
        assert_eq!(unknown.skipped_unassigned.len(), 1);
        assert!(unknown.auto_assigned.is_empty());
        let given = plan("kanban:\n  default_assignee: beta\n", &[], &tasks);
        assert_eq!(given.auto_assigned, [TaskId::new("t_none0")]);
        assert_eq!(given.launch[0].assignee, "beta");
    }

    #[test]
    fn an_explicit_assignee_is_left_alone_and_an_unknown_one_is_somebody_elses() {
        let mut tasks = waiting(1, Some("alpha"));
        tasks.extend(waiting(1, Some("terminal-3")));
        let plan = plan("kanban:\n  default_assignee: beta\n", &[], &tasks);
        assert_eq!(
            plan.launch,
            [Planned {
                task: TaskId::new("t_alpha0"),
                assignee: "alpha".into()
            }]
        );
        assert_eq!(plan.skipped_nonspawnable, [TaskId::new("t_terminal-30")]);
        assert!(plan.auto_assigned.is_empty());
    }

    #[test]
    fn a_lasting_access_problem_ends_in_a_block() {
        let mut tasks = waiting(1, Some("alpha"));
        tasks[0].last_failure_error = Some("unauthorized".into());
        let with = |ticks: Option<i64>| {
            let settings = settings("");
            let mut facts = HashMap::new();
            facts.insert(
                tasks[0].id.clone(),
                GuardFacts {
                    deferred: ticks.map(|n| ("blocker_auth".to_owned(), n, 9)),
                    ..GuardFacts::default()
                },
            );
            let mut planner = Planner::new(
                Caps::of(&settings),
                &settings,
                std::iter::empty(),
                &known,
                0,
            );
            planner.offer_ready(&tasks, &facts);
            (planner.deferrals, planner.give_up.len())
        };
        let deferral = |known| Deferral {
            task: tasks[0].id.clone(),
            reason: "blocker_auth",
            known,
        };
        assert_eq!(with(None), (vec![deferral(None)], 0));
        assert_eq!(with(Some(1)), (vec![deferral(Some((9, 2)))], 0));
        assert_eq!(
            with(Some(2)),
            (vec![], 1),
            "after two ticks, the default limit"
        );
    }
}
