//! Homes as single files: `tar.gz` for a profile that travels, `zip` for a backup.
//!
//! Both formats are written and read here, over `flate2`, because a home needs one
//! path through each: plain files, plain directories, names that stay inside.
//! Reading refuses what could land elsewhere (links, devices, `..`, absolute names)
//! before anything is written, and writes only into a directory of its caller's.
//! Databases are copied through SQLite, never read as files while somebody has them
//! open.

mod error;
mod files;
mod names;
mod tar;
mod zip;

pub(crate) use error::ArchiveError;
pub(crate) use files::{Item, copy_database, gather, is_database, is_sidecar};
pub(crate) use tar::{TarWriter, unpack_tar_gz};
pub(crate) use zip::{ZipEntry, ZipReader, ZipWriter};
