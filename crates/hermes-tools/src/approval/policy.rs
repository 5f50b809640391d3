//! The typed view of `approvals.*`.
//!
//! Read once, when a conversation is put together: a command that changes the file
//! changes nothing for the agent that ran it.

use std::time::Duration;

use hermes_config::{Config, ConfigError};

/// Who could be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// A person at a terminal.
    Terminal,
    /// A person in a chat, who may take longer.
    Chat,
    /// A scheduled job.
    Cron,
    /// A worker, or a run without a terminal.
    Worker,
}

/// What decides where nobody can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nobody {
    Deny,
    Allow,
    /// A model is asked, and what it does not approve is refused.
    Judge,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalPolicy {
    /// No questions: `approvals.mode: off`.
    pub off: bool,
    /// Let a model decide first: `approvals.mode: smart`.
    pub smart: bool,
    pub unattended: Nobody,
    /// The setting that `unattended` comes from, for messages.
    pub unattended_key: &'static str,
    /// How long a person may take.
    pub patience: Duration,
    /// A password for sudo is configured, so `sudo -S` may have it.
    pub sudo_password: bool,
    /// Writable directories of the host inside a container need no look.
    pub trust_mounts: bool,
    /// Whether one question for a whole script comes before `execute_code`. At a
    /// terminal its commands are asked about one by one instead.
    pub ask_for_scripts: bool,
}

impl ApprovalPolicy {
    pub fn read(config: &Config, occasion: Occasion) -> Result<Self, ConfigError> {
        let mode = config.string("approvals.mode")?;
        let patience = match occasion {
            Occasion::Chat => config.integer("approvals.gateway_timeout")?,
            _ => config.integer("approvals.timeout")?,
        };
        let (unattended, unattended_key) = match occasion {
            Occasion::Cron => (cron(config)?, "approvals.cron_mode"),
            // Somebody is there, but a subagent cannot ask.
            Occasion::Terminal | Occasion::Chat
                if config.bool("delegation.subagent_auto_approve")? =>
            {
                (Nobody::Allow, "delegation.subagent_auto_approve")
            }
            _ => (worker(config)?, "approvals.worker_mode"),
        };
        Ok(Self {
            off: mode == "off",
            smart: mode == "smart",
            unattended,
            unattended_key,
            patience: Duration::from_secs(u64::try_from(patience).unwrap_or(0)),
            sudo_password: config.optional_string("terminal.sudo_password")?.is_some(),
            trust_mounts: config.bool("approvals.trust_mounts")?,
            ask_for_scripts: occasion != Occasion::Terminal,
        })
    }
}

fn worker(config: &Config) -> Result<Nobody, ConfigError> {
    Ok(match config.string("approvals.worker_mode")?.as_str() {
        "allow" => Nobody::Allow,
        "smart" => Nobody::Judge,
        _ => Nobody::Deny,
    })
}

fn cron(config: &Config) -> Result<Nobody, ConfigError> {
    Ok(match config.string("approvals.cron_mode")?.as_str() {
        // Three older ways to say it.
        "approve" | "allow" | "yes" | "off" => Nobody::Allow,
        _ => Nobody::Deny,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(yaml: &str, occasion: Occasion) -> ApprovalPolicy {
        ApprovalPolicy::read(&Config::from_yaml(yaml).unwrap(), occasion).unwrap()
    }

    #[test]
    fn an_unquoted_off_means_off() {
        assert!(read("approvals: {mode: off}", Occasion::Terminal).off);
        assert!(read("approvals: {mode: 'off'}", Occasion::Terminal).off);
        assert!(read("approvals: {mode: smart}", Occasion::Terminal).smart);
        let manual = read("{}", Occasion::Terminal);
        assert!(!manual.off && !manual.smart);
    }

    #[test]
    fn each_occasion_has_its_own_setting() {
        let yaml =
            "approvals: {worker_mode: smart, cron_mode: approve, timeout: 7, gateway_timeout: 9}";
        assert_eq!(read(yaml, Occasion::Worker).unattended, Nobody::Judge);
        assert_eq!(read(yaml, Occasion::Cron).unattended, Nobody::Allow);
        assert_eq!(
            (
                read(yaml, Occasion::Terminal).patience.as_secs(),
                read(yaml, Occasion::Chat).patience.as_secs()
            ),
            (7, 9)
        );
        assert_eq!(read("{}", Occasion::Worker).unattended, Nobody::Deny);
        let auto = "delegation: {subagent_auto_approve: true}";
        assert_eq!(read(auto, Occasion::Terminal).unattended, Nobody::Allow);
        assert_eq!(read(auto, Occasion::Worker).unattended, Nobody::Deny);
        for word in ["off", "allow", "yes", "approve"] {
            let policy = read(&format!("approvals: {{cron_mode: {word}}}"), Occasion::Cron);
            assert_eq!(policy.unattended, Nobody::Allow, "{word}");
        }
    }
}
