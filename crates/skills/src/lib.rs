//! Folders of `SKILL.md` documents, as they are served to agents.
//!
//! [`scan()`] reads folders into a [`Library`]: everything that may be served, with its digests, in memory and never
//! changed afterwards. So a read cannot leave the folder, what is listed is exactly what is read, and a change on the
//! disk is a new library beside the old one. Only [`scan()`] touches the disk.
//!
//! [`SkillsServer`] serves a library to MCP clients, as a server in this process like any other server behind the gate.
//!
//! Documents follow the Agent Skills format. Those that break its rules are served too, as plain documents: a
//! [`Skill::flaw`] says why they are not offered as skills.

pub mod digest;
pub mod file;
pub mod frontmatter;
pub mod library;
pub mod limits;
pub mod media_type;
pub mod range;
pub mod scan;
pub mod search;
pub mod server;
pub mod skill;
pub mod uri;

pub use digest::Digest;
pub use file::File;
pub use library::{Difference, Library, Place, Selection};
pub use limits::Limits;
pub use range::ByteRange;
pub use scan::{Refused, scan};
pub use search::Hit;
pub use server::SkillsServer;
pub use skill::Skill;
pub use uri::{SkillPath, UriError};
