//! The program itself: time, logs, network, updates, foreign secret stores.

use super::key::{Key, flag, int, text};

/// The newest version of the file's layout.
pub(crate) const CONFIG_VERSION: i64 = 27;

#[rustfmt::skip]
pub(super) const KEYS: &[Key] = &[
    text("timezone", "", "IANA name of the time zone; empty means that of the machine").gateway("HERMES_TIMEZONE"),
    text("logging.level", "INFO", "least important messages in `agent.log`").live(),
    int("logging.max_size_mb", 5, "size from which a log starts anew, in MB").live(),
    int("logging.backup_count", 3, "older logs kept").live(),
    flag("network.force_ipv4", false, "use IPv4 addresses only, where a host has one").live(),
    flag("updates.pre_update_backup", false, "make a backup before an update"),
    int("updates.backup_keep", 5, "such backups kept"),
    text("updates.non_interactive_local_changes", "stash", "what an update does with local changes when nobody can be asked"),
    flag("secrets.bitwarden.enabled", false, "has no effect: Bitwarden is not asked for secrets").inert(),
    text("secrets.bitwarden.access_token_env", "BWS_ACCESS_TOKEN", "has no effect: Bitwarden is not asked for secrets").inert(),
    text("secrets.bitwarden.project_id", "", "has no effect: Bitwarden is not asked for secrets").inert(),
    int("secrets.bitwarden.cache_ttl_seconds", 300, "has no effect: Bitwarden is not asked for secrets").inert(),
    flag("secrets.bitwarden.override_existing", true, "has no effect: Bitwarden is not asked for secrets").inert(),
    flag("secrets.bitwarden.auto_install", true, "has no effect: Bitwarden is not asked for secrets").inert(),
    text("secrets.bitwarden.server_url", "", "has no effect: Bitwarden is not asked for secrets").inert(),
    int("_config_version", CONFIG_VERSION, "layout of the file; changed by `config migrate` only").live(),
];
