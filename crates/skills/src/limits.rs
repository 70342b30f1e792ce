//! How much is read.

/// The extension promises hosts no skill beyond these two.
const FILES_PER_SKILL: usize = 512;
const BYTES_PER_SKILL: u64 = 16 * 1024 * 1024;

/// Bounds of one library. What goes beyond them is left out, and said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many skills there may be.
    pub skills: usize,
    /// How many files one skill may have, `SKILL.md` included.
    pub files_per_skill: usize,
    /// How long one file may be.
    pub file_bytes: u64,
    /// How long all files of one skill may be together.
    pub skill_bytes: u64,
    /// How long all files may be together; they are kept in memory.
    pub total_bytes: u64,
    /// How many folders may be inside of each other, counted from the folder that is read.
    pub depth: usize,
    /// How many entries of folders are looked at.
    pub entries: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            skills: 2000,
            files_per_skill: FILES_PER_SKILL,
            file_bytes: 1024 * 1024,
            skill_bytes: BYTES_PER_SKILL,
            total_bytes: 128 * 1024 * 1024,
            depth: 12,
            entries: 100_000,
        }
    }
}
