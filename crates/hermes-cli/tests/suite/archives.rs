//! Homes as files: what goes in, what comes out, what is refused.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use pretty_assertions::assert_eq;

use super::support::Scratch;

const KEY: &str = "sk-abcdefghijklmnopqrstuvwxyz0123456789";

/// A profile with everything that must not travel, and some of what must.
fn with_profile() -> Scratch {
    let scratch = Scratch::new();
    scratch.ok(["profile", "create", "coder", "--no-alias"]);
    let write = |name: &str, text: &str| scratch.write(&format!("profiles/coder/{name}"), text);
    write(".env", &format!("OPENROUTER_API_KEY={KEY}\n"));
    write(".env.bak", &format!("OPENROUTER_API_KEY={KEY}\n"));
    write("auth.json", &format!("{{\"key\": \"{KEY}\"}}"));
    write("skills/deep/auth.json", &format!("{{\"key\": \"{KEY}\"}}"));
    write(
        "mcp-tokens/server.json",
        &format!("{{\"token\": \"{KEY}\"}}"),
    );
    write(
        "config.yaml",
        &format!(
            "# mine\nmodel:\n  default: m\n  api_key: {KEY}\ncustom_providers:\n  - name: x\n    api_key: {KEY}\n  - name: y\n    api_key: ${{Y_KEY}}\n"
        ),
    );
    write("memories/MEMORY.md", "likes tea\n");
    write(&format!("skills/{}/SKILL.md", "long-".repeat(30)), "deep\n");
    write("notes-é.md", "unicode\n");
    write("gateway.pid", "1");
    write("x.sock", "");
    symlink("/etc/passwd", scratch.home().join("profiles/coder/link")).expect("a link");
    scratch
}

/// All of the archive, unpacked by the machine's own tar.
fn untar(archive: &Path) -> (tempfile::TempDir, Vec<String>) {
    let directory = tempfile::tempdir().expect("a directory");
    let status = Command::new("tar")
        .args(["xzf"])
        .arg(archive)
        .arg("-C")
        .arg(directory.path())
        .status()
        .expect("tar runs");
    assert!(status.success());
    let listed = Command::new("find")
        .args([".", "-type", "f", "-printf", "%P\n"])
        .current_dir(directory.path())
        .output()
        .expect("find runs");
    let mut names: Vec<String> = String::from_utf8_lossy(&listed.stdout)
        .lines()
        .map(str::to_owned)
        .collect();
    names.sort();
    (directory, names)
}

#[test]
fn an_exported_profile_holds_no_secret_and_comes_back_whole() {
    let scratch = with_profile();
    scratch.ok(["profile", "export", "coder", "-o", "coder.tar.gz"]);
    let archive = scratch.user_home().join("coder.tar.gz");
    let (unpacked, names) = untar(&archive);
    for name in &names {
        let content = fs::read(unpacked.path().join(name)).expect("it is there");
        assert!(
            !String::from_utf8_lossy(&content).contains(KEY),
            "{name} holds the key"
        );
    }
    for gone in [".env", "auth.json", "gateway.pid", "x.sock", "link"] {
        assert!(!names.iter().any(|name| name.ends_with(gone)), "{names:?}");
    }
    assert!(names.contains(&"coder/notes-é.md".to_owned()), "{names:?}");
    let config = fs::read_to_string(unpacked.path().join("coder/config.yaml")).expect("a config");
    assert!(
        config.starts_with("# mine\nmodel:\n  default: m\n"),
        "{config}"
    );
    assert!(config.contains("${Y_KEY}"), "{config}");

    let ran = scratch.run(["profile", "import", "coder.tar.gz", "--name", "writer"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert_eq!(
        scratch.read("profiles/writer/memories/MEMORY.md"),
        "likes tea\n"
    );
    assert_eq!(scratch.read("profiles/writer/notes-é.md"), "unicode\n");
    let deep = format!("profiles/writer/skills/{}/SKILL.md", "long-".repeat(30));
    assert_eq!(scratch.read(&deep), "deep\n");
    assert!(!scratch.exists("profiles/writer/.env"));
    assert!(scratch.user_home().join(".local/bin/writer").is_file());
    let again = scratch.fails(1, ["profile", "import", "coder.tar.gz"]);
    assert!(again.contains("--name"), "{again}");
}

#[test]
fn a_dump_names_keys_and_settings_and_shows_no_secret() {
    let scratch = Scratch::new();
    scratch.write(".env", format!("OPENROUTER_API_KEY={KEY}\n"));
    scratch.write(
        "config.yaml",
        format!("model:\n  default: m\nterminal:\n  timeout: 77\nauxiliary:\n  vision:\n    api_key: {KEY}\n"),
    );
    let text = scratch.ok(["dump"]);
    assert!(
        text.starts_with("--- hermes dump ---\nversion:          "),
        "{text}"
    );
    assert!(text.ends_with("--- end dump ---\n"), "{text}");
    assert!(text.contains("  openrouter           set\n"), "{text}");
    assert!(text.contains("  openai               not set\n"), "{text}");
    assert!(text.contains("  terminal.timeout: 77\n"), "{text}");
    assert!(text.contains("auxiliary.vision.api_key"), "{text}");
    for text in [text, scratch.ok(["dump", "--show-keys"])] {
        assert!(!text.contains(KEY), "{text}");
    }
    assert!(!scratch.exists("logs"), "it only looks");
}

#[test]
fn the_original_stays_as_it_was_after_an_export() {
    let scratch = with_profile();
    let before = scratch.read("profiles/coder/config.yaml");
    scratch.ok(["profile", "export", "coder"]);
    assert_eq!(scratch.read("profiles/coder/config.yaml"), before);
    assert!(scratch.user_home().join("coder.tar.gz").is_file());
}

/// An archive that only a stranger would make.
fn hostile(scratch: &Scratch, script: &str) -> PathBuf {
    let path = scratch.user_home().join("hostile");
    let status = Command::new("python3")
        .args(["-c", script])
        .arg(&path)
        .status()
        .expect("python3 runs");
    assert!(status.success());
    path
}

fn everything_below(directory: &Path) -> Vec<String> {
    let listed = Command::new("find")
        .args([".", "-not", "-name", "hostile"])
        .current_dir(directory)
        .output()
        .expect("find runs");
    let mut names: Vec<String> = String::from_utf8_lossy(&listed.stdout)
        .lines()
        .map(str::to_owned)
        .collect();
    names.sort();
    names
}

#[test]
fn a_profile_that_reaches_elsewhere_is_refused_and_leaves_nothing() {
    let entries = [
        "i = tarfile.TarInfo('x/../../../evil'); i.size = 2; t.addfile(i, io.BytesIO(b'hi'))",
        "i = tarfile.TarInfo('/evil'); i.size = 2; t.addfile(i, io.BytesIO(b'hi'))",
        "i = tarfile.TarInfo('x/link'); i.type = tarfile.SYMTYPE; i.linkname = '/etc'; t.addfile(i)",
        "i = tarfile.TarInfo('x/link'); i.type = tarfile.LNKTYPE; i.linkname = 'x/a'; t.addfile(i)",
        "i = tarfile.TarInfo('x/pipe'); i.type = tarfile.FIFOTYPE; t.addfile(i)",
        "i = tarfile.TarInfo('y/b'); i.size = 2; t.addfile(i, io.BytesIO(b'hi'))",
    ];
    for entry in entries {
        let scratch = Scratch::new();
        scratch.ok(["profile", "list"]);
        let script = format!(
            "import io, sys, tarfile\nt = tarfile.open(sys.argv[1], 'w:gz')\n\
             i = tarfile.TarInfo('x/a'); i.size = 2; t.addfile(i, io.BytesIO(b'hi'))\n{entry}\nt.close()\n"
        );
        let archive = hostile(&scratch, &script);
        let before = everything_below(scratch.user_home());
        let words = ["profile", "import", archive.to_str().expect("UTF-8")];
        let error = scratch.fails(1, words);
        assert!(
            error.contains("hostile") || error.contains("holds"),
            "{error}"
        );
        assert_eq!(everything_below(scratch.user_home()), before, "{entry}");
    }
}

#[test]
fn what_is_no_archive_gets_a_sentence() {
    let scratch = Scratch::new();
    scratch.ok(["profile", "list"]);
    fs::write(scratch.user_home().join("text"), "hello").expect("it is ours");
    let error = scratch.fails(1, ["profile", "import", "text"]);
    assert!(error.contains("not a tar.gz archive"), "{error}");
    let error = scratch.fails(1, ["import", "text"]);
    assert!(error.contains("not a zip archive"), "{error}");
    assert!(!scratch.home().exists());
    let error = scratch.fails(1, ["import", "missing"]);
    assert!(error.contains("missing"), "{error}");
    let error = scratch.fails(1, ["backup"]);
    assert!(error.contains("nothing to back up"), "{error}");
}

fn rows(database: &Path) -> i64 {
    let connection = rusqlite::Connection::open(database).expect("a database");
    let check: String = connection
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .expect("it can be checked");
    assert_eq!(check, "ok");
    connection
        .query_row("SELECT count(*) FROM t", [], |row| row.get(0))
        .expect("a table")
}

#[test]
fn a_backup_taken_while_somebody_writes_restores_to_a_whole_database() {
    let scratch = Scratch::new();
    scratch.ok(["config", "set", "model.default", "m"]);
    scratch.write(".env", "A_KEY=1\n");
    scratch.write("profiles/coder/SOUL.md", "I am coder\n");
    scratch.write("checkpoints/big", "no\n");
    let path = scratch.home().join("state.db");
    // Rows that are only in the log: a copy of the file alone would miss them.
    let writer = rusqlite::Connection::open(&path).expect("a database");
    writer
        .execute_batch("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; CREATE TABLE t(a);")
        .expect("a table");
    for number in 0..100 {
        writer
            .execute("INSERT INTO t VALUES (?)", [number])
            .expect("room");
    }
    writer
        .execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES (1000);")
        .expect("a write that goes on");
    scratch.ok(["backup", "-o", "b.zip"]);
    writer.execute_batch("COMMIT").expect("it commits");
    drop(writer);
    let archive = scratch.user_home().join("b.zip");
    let mode = fs::metadata(&archive)
        .expect("it is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600, "keys are in it");
    let listed = Command::new("python3")
        .args(["-c", "import sys, zipfile\nz = zipfile.ZipFile(sys.argv[1])\nassert z.testzip() is None\nprint('\\n'.join(z.namelist()))"])
        .arg(&archive)
        .output()
        .expect("python3 runs");
    let names = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(listed.status.success(), "{listed:?}");
    assert!(names.contains("profiles/coder/SOUL.md"), "{names}");
    assert!(
        !names.contains("checkpoints") && !names.contains("-wal"),
        "{names}"
    );

    let other = Scratch::new();
    fs::copy(&archive, other.user_home().join("b.zip")).expect("room");
    other.ok(["import", "b.zip"]);
    assert_eq!(rows(&other.home().join("state.db")), 100);
    assert_eq!(other.read("profiles/coder/SOUL.md"), "I am coder\n");
    assert!(other.user_home().join(".local/bin/coder").is_file());
    let mode = fs::metadata(other.home().join(".env"))
        .expect("keys")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);

    // Over data: only when asked to, and a reader that stayed sees what was restored.
    assert_eq!(rows(&path), 101);
    let reader = rusqlite::Connection::open(&path).expect("a database");
    let error = scratch.fails(1, ["import", "b.zip"]);
    assert!(error.contains("--force"), "{error}");
    assert_eq!(rows(&path), 101);
    scratch.ok(["import", "--force", "b.zip"]);
    let seen: i64 = reader
        .query_row("SELECT count(*) FROM t", [], |row| row.get(0))
        .expect("still open");
    assert_eq!(seen, 100);
    assert_eq!(rows(&path), 100);
}

#[test]
fn a_zip_that_reaches_elsewhere_is_refused_and_leaves_nothing() {
    for entry in [
        "z.writestr('../evil', 'x')",
        "z.writestr('/evil', 'x')",
        "i = zipfile.ZipInfo('link'); i.external_attr = 0o120777 << 16; z.writestr(i, '/etc')",
    ] {
        let scratch = Scratch::new();
        let script = format!(
            "import sys, zipfile\nz = zipfile.ZipFile(sys.argv[1], 'w')\nz.writestr('config.yaml', 'a: 1')\n{entry}\nz.close()\n"
        );
        let archive = hostile(&scratch, &script);
        let before = everything_below(scratch.user_home());
        let error = scratch.fails(1, ["import", archive.to_str().expect("UTF-8")]);
        assert!(error.contains("nothing was unpacked"), "{error}");
        assert_eq!(everything_below(scratch.user_home()), before, "{entry}");
    }
}

#[test]
fn a_damaged_zip_changes_nothing() {
    let scratch = Scratch::new();
    scratch.write("config.yaml", "model:\n  default: before\n");
    scratch.write("SOUL.md", "words ".repeat(500));
    scratch.ok(["backup", "-o", "b.zip"]);
    let path = scratch.user_home().join("b.zip");
    let mut bytes = fs::read(&path).expect("it is there");
    bytes[70] ^= 0xff;
    fs::File::create(&path)
        .and_then(|mut file| file.write_all(&bytes))
        .expect("room");
    scratch.write("config.yaml", "model:\n  default: after\n");
    let error = scratch.fails(1, ["import", "--force", "b.zip"]);
    assert!(error.contains("damaged"), "{error}");
    assert_eq!(scratch.read("config.yaml"), "model:\n  default: after\n");
}

#[test]
fn quick_copies_have_a_manifest_and_do_not_pile_up() {
    let scratch = Scratch::new();
    scratch.write("config.yaml", "model: m\n");
    scratch.write("pairing/x.json", "{}");
    for number in 0..21 {
        scratch.write(
            &format!("state-snapshots/20200101-0000{number:02}/manifest.json"),
            "{}",
        );
    }
    scratch.ok(["backup", "--quick", "--label", "before the move"]);
    let directory = scratch.home().join("state-snapshots");
    let mut names: Vec<_> = fs::read_dir(&directory)
        .expect("it is there")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("UTF-8")
        })
        .collect();
    names.sort();
    assert_eq!(names.len(), 20);
    let newest = names.last().expect("one");
    assert!(newest.ends_with("-before-the-move"), "{newest}");
    let text = scratch.read(&format!("state-snapshots/{newest}/manifest.json"));
    let manifest: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(manifest["files"]["config.yaml"], 9);
    assert_eq!(manifest["files"]["pairing/x.json"], 2);
    assert_eq!(manifest["file_count"], 2);
}
