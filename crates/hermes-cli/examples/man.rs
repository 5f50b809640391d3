//! `man DIRECTORY`: writes the manual pages; `scripts/release` calls it.

use std::path::PathBuf;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let directory = env::args_os()
        .nth(1)
        .map(PathBuf::from)
        .ok_or_else(|| io::Error::other("usage: man DIRECTORY"))?;
    fs::create_dir_all(&directory)?;
    for (name, text) in hermes_cli::man::man_pages() {
        fs::write(directory.join(name), text)?;
    }
    Ok(())
}
