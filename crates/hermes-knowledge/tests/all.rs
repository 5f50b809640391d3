//! Memory and skill files on a real file system, as both programs see them.

mod suite {
    mod memory;
    mod skills;
}
