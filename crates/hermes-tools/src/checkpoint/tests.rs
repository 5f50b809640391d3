//! The store with a real git.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use hermes_config::Config;
use hermes_home::Clock;
use pretty_assertions::assert_eq;

use super::*;

struct Bed {
    directory: tempfile::TempDir,
    store: CheckpointStore,
    settings: CheckpointSettings,
}

impl Bed {
    fn new(yaml: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let store = CheckpointStore::new(
            directory.path().join("home/checkpoints"),
            path,
            None,
            Clock::System,
        );
        let config = Config::from_yaml(yaml).unwrap();
        let bed = Self {
            store,
            settings: CheckpointSettings::read(&config).unwrap(),
            directory,
        };
        fs::create_dir_all(bed.project()).unwrap();
        bed
    }

    fn project(&self) -> PathBuf {
        self.directory
            .path()
            .canonicalize()
            .unwrap()
            .join("project")
    }

    fn user_home(&self) -> PathBuf {
        self.directory.path().join("user")
    }

    fn put(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.project().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn text(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.project().join(name)).ok()
    }

    async fn take(&self, reason: &str) -> Result<String, Skipped> {
        self.store
            .snapshot(&self.project(), &self.user_home(), reason, &self.settings)
            .await
            .unwrap()
    }

    async fn reasons(&self) -> Vec<String> {
        let list = self.store.list(&self.project()).await.unwrap();
        list.into_iter().map(|one| one.reason).collect()
    }

    async fn restore(&self, name: &str, file: Option<&str>, leftovers: Leftovers) -> Restored {
        let found = self.store.find(&self.project(), name).await.unwrap();
        let (project, home) = (self.project(), self.user_home());
        self.store
            .restore(&project, &home, &found, file, leftovers, &self.settings)
            .await
            .unwrap()
    }
}

#[tokio::test]
async fn files_come_back_as_they_were() {
    let bed = Bed::new("{}");
    bed.put("a.txt", "one\r\n");
    bed.put("run.sh", "old");
    bed.put("sub/b.txt", "two");
    bed.put("node_modules/x", "x");
    bed.put(".env", "SECRET=1");
    bed.put(".gitattributes", "* text=auto eol=lf ident\n");
    let mode = |mode| fs::Permissions::from_mode(mode);
    fs::set_permissions(bed.project().join("run.sh"), mode(0o750)).unwrap();
    fs::set_permissions(bed.project().join("a.txt"), mode(0o600)).unwrap();
    bed.take("before write_file").await.unwrap();
    assert_eq!(bed.take("again").await, Err(Skipped::Unchanged));

    bed.put("a.txt", "changed");
    bed.put("run.sh", "new");
    fs::set_permissions(bed.project().join("run.sh"), mode(0o640)).unwrap();
    bed.put("later/new.txt", "new");
    fs::remove_file(bed.project().join("sub/b.txt")).unwrap();
    fs::write(bed.project().join("node_modules/x"), "y").unwrap();
    let restored = bed.restore("1", None, Leftovers::Keep).await;
    assert_eq!(
        restored,
        Restored {
            written: vec!["a.txt".into(), "run.sh".into(), "sub/b.txt".into()],
            removed: vec![],
            kept: vec!["later/new.txt".into()],
            lost: vec![],
        }
    );
    assert_eq!(bed.text("a.txt").as_deref(), Some("one\r\n"));
    assert_eq!(bed.text("sub/b.txt").as_deref(), Some("two"));
    assert_eq!(bed.text("node_modules/x").as_deref(), Some("y"));
    let bits = |name: &str| {
        let meta = fs::metadata(bed.project().join(name)).unwrap();
        meta.permissions().mode() & 0o777
    };
    assert_eq!((bits("a.txt"), bits("run.sh")), (0o600, 0o750));
    // The way back can be taken back.
    assert_eq!(bed.reasons().await.len(), 2);
    bed.restore("1", None, Leftovers::Keep).await;
    assert_eq!(bed.text("a.txt").as_deref(), Some("changed"));
    let gone = bed.restore("3", None, Leftovers::Remove).await;
    assert_eq!(gone.removed, ["later/new.txt"]);
    assert!(!bed.project().join("later").exists());
}

#[tokio::test]
async fn a_repository_within_is_named_when_it_is_gone() {
    let bed = Bed::new("{}");
    bed.put("a.txt", "one");
    bed.put("inner/x", "x");
    let inner = bed.project().join("inner");
    let words = "init -q; add x; -c user.name=n -c user.email=e commit -qm x";
    for call in words.split("; ") {
        let git = hermes_process::Command::new("git");
        let limits = hermes_process::Limits {
            timeout: std::time::Duration::from_secs(60),
            max_bytes: 1024,
        };
        let git = git.args(call.split(' ')).directory(&inner);
        hermes_process::output(git, limits).await.unwrap();
    }
    bed.take("before").await.unwrap();
    fs::remove_dir_all(&inner).unwrap();
    fs::remove_file(bed.project().join("a.txt")).unwrap();
    let restored = bed.restore("1", None, Leftovers::Keep).await;
    assert_eq!(
        (restored.written, restored.lost),
        (vec!["a.txt".to_owned()], vec!["inner".to_owned()])
    );
}

#[tokio::test]
async fn one_file_and_odd_names_come_back() {
    let bed = Bed::new("{}");
    for name in ["a.txt", "new\nline", "-dash", ":(glob)*", "ü *"] {
        bed.put(name, "old");
    }
    use std::os::unix::ffi::OsStrExt;
    let raw = bed
        .project()
        .join(std::ffi::OsStr::from_bytes(b"not\xffutf8"));
    fs::write(&raw, "old").unwrap();
    bed.take("x").await.unwrap();
    for name in ["a.txt", "new\nline", "-dash", ":(glob)*", "ü *"] {
        bed.put(name, "new");
    }
    fs::write(&raw, "new").unwrap();
    bed.restore("1", Some(":(glob)*"), Leftovers::Keep).await;
    assert_eq!(bed.text(":(glob)*").as_deref(), Some("old"));
    assert_eq!(bed.text("a.txt").as_deref(), Some("new"));
    bed.restore("2", None, Leftovers::Keep).await;
    for name in ["a.txt", "new\nline", "-dash", "ü *"] {
        assert_eq!(bed.text(name).as_deref(), Some("old"), "{name:?}");
    }
    assert_eq!(fs::read_to_string(&raw).unwrap(), "old");
}

#[tokio::test]
async fn names_that_are_no_checkpoints_and_paths_outside_are_refused() {
    let bed = Bed::new("{}");
    let find = |name: &'static str| {
        let (store, project) = (bed.store.clone(), bed.project());
        async move { store.find(&project, name).await.unwrap_err().to_string() }
    };
    assert!(find("1").await.contains("no checkpoints"));
    bed.put("a", "1");
    bed.take("x").await.unwrap();
    for name in [
        "--patch", "-1", "HEAD", "0", "2", "abc", "zzzz", "ffffffff", "",
    ] {
        assert!(!find(name).await.is_empty(), "{name}");
    }
    let found = bed.store.find(&bed.project(), "1").await.unwrap();
    assert_eq!(
        bed.store
            .find(&bed.project(), &found.commit[..6])
            .await
            .unwrap(),
        found
    );
    for file in ["../a", "/etc/passwd", "", "a/../../b", "no-such"] {
        let refused = bed
            .store
            .restore(
                &bed.project(),
                &bed.user_home(),
                &found,
                Some(file),
                Leftovers::Keep,
                &bed.settings,
            )
            .await;
        assert!(refused.is_err(), "{file}");
    }
}

#[tokio::test]
async fn the_newest_are_kept_and_large_files_left_out() {
    let bed = Bed::new("checkpoints: {max_snapshots: 3, max_file_size_mb: 1}");
    bed.put("large", vec![b'x'; 2 << 20]);
    for number in 0..6 {
        bed.put("a", number.to_string());
        bed.take(&format!("number {number}")).await.unwrap();
    }
    assert_eq!(bed.reasons().await, ["number 5", "number 4", "number 3"]);
    bed.put("large", "small now");
    bed.take("small").await.unwrap();
    bed.put("large", vec![b'y'; 2 << 20]);
    bed.put("a", "last");
    bed.take("large").await.unwrap();
    bed.restore("2", Some("large"), Leftovers::Keep).await;
    assert_eq!(bed.text("large").as_deref(), Some("small now"));
    let size = store::tree_size(&bed.store.git.directory);
    assert!(size < 1 << 20, "{size}");
}

#[tokio::test]
async fn the_store_is_kept_small_and_forgets_what_is_gone() {
    let bed = Bed::new("checkpoints: {max_total_size_mb: 1}");
    let mut noise = 1_u64;
    for number in 0..8 {
        let bytes: Vec<u8> = (0..400_000)
            .map(|_| {
                noise ^= noise << 13;
                noise ^= noise >> 7;
                noise ^= noise << 17;
                noise as u8
            })
            .collect();
        bed.put("noise", bytes);
        bed.take(&number.to_string()).await.unwrap();
        bed.store.fit_if_needed(&bed.settings).await.unwrap();
    }
    let left = bed.reasons().await;
    assert!((1..=2).contains(&left.len()) && left[0] == "7", "{left:?}");
    assert!(bed.store.sizes().store <= 1 << 20);

    let rules = PruneRules::from(&bed.settings);
    assert_eq!(bed.store.prune(&rules).await.unwrap().orphans, 0);
    fs::remove_dir_all(bed.project()).unwrap();
    let pruned = bed.store.prune(&rules).await.unwrap();
    assert_eq!((pruned.scanned, pruned.orphans, pruned.errors), (1, 1, 0));
    assert!(pruned.bytes > 300_000, "{pruned:?}");
    assert_eq!(bed.store.projects().await.unwrap(), []);
    assert!(!bed.store.prune_is_due(&bed.settings));
}

#[tokio::test]
async fn what_is_no_project_is_left_alone() {
    let bed = Bed::new("{}");
    let home = bed.directory.path().canonicalize().unwrap();
    for (directory, user_home) in [
        (PathBuf::from("/"), home.clone()),
        (home.clone(), home.clone()),
        (home.clone(), PathBuf::from("/nowhere")),
    ] {
        let taken = bed
            .store
            .snapshot(&directory, &user_home, "x", &bed.settings)
            .await
            .unwrap();
        assert_eq!(taken, Err(Skipped::NotAProject));
    }
    assert!(!bed.store.base().exists());
}

#[tokio::test]
async fn unreadable_things_and_a_dead_snapshot_do_no_harm() {
    let bed = Bed::new("{}");
    bed.put("a", "1");
    nix::unistd::mkfifo(&bed.project().join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    std::os::unix::fs::symlink("/dev/zero", bed.project().join("zero")).unwrap();
    bed.take("first").await.unwrap();
    // What a process leaves that was killed while it worked.
    let hash = bed.store.hash_of(&bed.project());
    fs::write(bed.store.index(&hash).with_extension("tmp-dead"), "half").unwrap();
    fs::write(bed.store.index(&hash).with_extension("tmp-dead.lock"), "").unwrap();
    bed.put("a", "2");
    bed.take("second").await.unwrap();
    assert_eq!(bed.reasons().await, ["second", "first"]);
    let rules = PruneRules::from(&bed.settings);
    bed.store.prune(&rules).await.unwrap();
    let names = fs::read_dir(bed.store.git.directory.join("indexes")).unwrap();
    assert_eq!(names.count(), 1);
}

#[tokio::test]
async fn older_stores_are_moved_aside_and_several_can_work_at_once() {
    let bed = Bed::new("{}");
    let old = bed.store.base().join("0123456789abcdef");
    fs::create_dir_all(&old).unwrap();
    fs::write(old.join("HEAD"), "ref: refs/heads/master\n").unwrap();
    bed.put("a", "1");
    let (one, two) = tokio::join!(bed.take("one"), bed.take("two"));
    assert_eq!(
        [one.is_ok(), two.is_ok()].iter().filter(|ok| **ok).count(),
        1
    );
    assert_eq!(bed.store.sizes().legacy_directories, 1);
    bed.store.clear_legacy().await.unwrap();
    assert_eq!(bed.store.sizes().legacy_directories, 0);
    assert!(bed.store.clear().await.unwrap() > 0);
    assert!(!bed.store.base().exists());
}
