//! The last good listing of every server, on disk, so that lists answer at once after a restart.
//!
//! A file is a JSON object whose lists look like pages of the servers, and is read by the same code: nothing that a server
//! could not have listed comes in this way. What cannot be read, is not whole, or was remembered for a server that is
//! configured otherwise now, is as good as absent; the worst that this costs is one fetch.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use toolgate_client::status::Greeting;
use toolgate_protocol::scan::Malformed;
use toolgate_protocol::{Object, Span, Version, text};

use super::digest::{Digest, hexadecimal};
use super::kind::Kind;
use super::listing::{Freshness, Listing, UnusablePage};

/// The largest file that is written or read.
const MAX_FILE: u64 = 128 << 20;
/// Changes whenever the form of the files does.
const FORMAT: &str = "1";
const CHECK_HEAD: &[u8] = br#"{"check":""#;
const CHECK_TAIL: &[u8] = br#"","#;
const CHECK_DIGITS: usize = 64;

/// A directory with one file for each server.
#[derive(Clone, Debug)]
pub struct Memory {
    directory: PathBuf,
}

/// Why a listing was not remembered, or why what was remembered is of no use.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The file system refused.
    #[error("cannot use {}: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// The listing, or the file, is larger than what is kept.
    #[error("{}: more than {MAX_FILE} bytes are not remembered for one server", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// The file is damaged or of another version.
    #[error("{} is damaged ({cause}) and is ignored; it can be deleted", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        cause: String,
    },
}

impl Memory {
    /// The memory under a state directory. Nothing is read or made yet.
    pub fn under(state_directory: &Path) -> Memory {
        Memory { directory: state_directory.join("catalog") }
    }

    /// Remembers a listing. `config` is a digest of the server's configuration. The file is replaced as a whole.
    pub fn store(&self, listing: &Listing, config: &str) -> Result<(), MemoryError> {
        let path = self.path(listing.server());
        let content = write(listing, config);
        if content.len() as u64 > MAX_FILE {
            return Err(MemoryError::TooLarge { path });
        }
        let failed = |cause| MemoryError::Io { path: path.clone(), cause };
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory).map_err(failed)?;
        replace(&path, &content).map_err(failed)
    }

    /// The remembered listing of a server; nothing where there is none for this configuration.
    pub fn load(&self, server: &Arc<str>, config: &str) -> Result<Option<Listing>, MemoryError> {
        let path = self.path(server);
        let content = match read_file(&path) {
            Ok(Some(content)) => content,
            Ok(None) => return Err(MemoryError::TooLarge { path }),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(cause) => return Err(MemoryError::Io { path, cause }),
        };
        read(&content, server, config)
            .map_err(|damage| MemoryError::Damaged { path, cause: damage.to_string() })
    }

    /// Forgets a server that is configured no more.
    pub fn forget(&self, server: &str) -> Result<(), MemoryError> {
        let path = self.path(server);
        match fs::remove_file(&path) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(MemoryError::Io { path, cause }),
            _ => Ok(()),
        }
    }

    /// Names of servers are free text: whatever could mean something to a file system is written in digits.
    fn path(&self, server: &str) -> PathBuf {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        let mut name = String::with_capacity(server.len() + 5);
        for byte in server.bytes() {
            if plain(byte) { name.push(char::from(byte)) } else { name.push_str(&format!("%{byte:02x}")) }
        }
        if name.len() > 200 {
            name = format!("%{}", hexadecimal(&Digest::new("server").part(server.as_bytes()).whole()));
        }
        self.directory.join(name + ".json")
    }
}

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
enum Damage {
    #[error("its check does not agree with its content")]
    Check,
    #[error("it has no valid '{0}'")]
    Member(&'static str),
    #[error("{0}")]
    Json(#[from] Malformed),
    #[error("{0}")]
    Page(#[from] UnusablePage),
}

fn write(listing: &Listing, config: &str) -> Vec<u8> {
    let mut body = Vec::new();
    let over_http = listing.over_http();
    let format_and_config =
        format!(r#""format":{FORMAT},"config":{},"http":{over_http}"#, text::quote(config));
    body.extend_from_slice(format_and_config.as_bytes());
    if let Some(greeting) = listing.greeting() {
        write_greeting(&mut body, greeting);
    }
    for kind in Kind::ALL {
        if let Some(freshness) = listing.freshness(kind) {
            write_list(&mut body, listing, kind, freshness);
        }
    }
    body.push(b'}');
    let check = hexadecimal(&Digest::new("memory").part(&body).whole());
    [CHECK_HEAD, check.as_bytes(), CHECK_TAIL, &body].concat()
}

fn write_greeting(out: &mut Vec<u8>, greeting: &Greeting) {
    out.extend_from_slice(format!(r#","version":"{}","capabilities":"#, greeting.version.date()).as_bytes());
    out.extend_from_slice(&greeting.capabilities);
    let optional = [("serverInfo", &greeting.server_info), ("instructions", &greeting.instructions)];
    for (key, value) in optional {
        if let Some(value) = value {
            out.extend_from_slice(format!(r#","{key}":"#).as_bytes());
            out.extend_from_slice(value);
        }
    }
}

fn write_list(out: &mut Vec<u8>, listing: &Listing, kind: Kind, freshness: Freshness) {
    let (key, ttl_ms) = (kind.list_key(), freshness.ttl_ms);
    let scope = if freshness.public { "public" } else { "private" };
    let head = format!(r#","{key}":{{"ttlMs":{ttl_ms},"cacheScope":"{scope}","{key}":["#);
    out.extend_from_slice(head.as_bytes());
    for (place, entry) in listing.entries(kind).iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        out.extend_from_slice(entry.raw());
    }
    out.extend_from_slice(b"]}");
}

fn read(content: &Bytes, server: &Arc<str>, config: &str) -> Result<Option<Listing>, Damage> {
    let body_start = CHECK_HEAD.len() + CHECK_DIGITS + CHECK_TAIL.len();
    let body = content.get(body_start..).ok_or(Damage::Check)?;
    let check = Span::new(CHECK_HEAD.len(), CHECK_HEAD.len() + CHECK_DIGITS).of(content);
    if check != hexadecimal(&Digest::new("memory").part(body).whole()).as_bytes() {
        return Err(Damage::Check);
    }
    let object = Object::parse(content)?;
    if object.get("format") != Some(FORMAT.as_bytes()) {
        return Err(Damage::Member("format"));
    }
    if object.text("config").ok_or(Damage::Member("config"))? != config {
        return Ok(None);
    }
    let over_http = object.get("http") == Some(b"true");
    let mut listing = Listing::new(server.clone(), read_greeting(&object)?, over_http);
    for kind in Kind::ALL {
        if let Some(place) = object.place(kind.list_key()) {
            listing.add_page(kind, &content.slice(place.start()..place.end()))?;
        }
    }
    Ok(Some(listing))
}

fn read_greeting(object: &Object<'_>) -> Result<Option<Greeting>, Damage> {
    let Some(version) = object.text("version") else { return Ok(None) };
    let version = Version::dated(&version).ok_or(Damage::Member("version"))?;
    let copy = |key: &str| object.get(key).map(Bytes::copy_from_slice);
    let capabilities = copy("capabilities").ok_or(Damage::Member("capabilities"))?;
    let (server_info, instructions) = (copy("serverInfo"), copy("instructions"));
    Ok(Some(Greeting {
        era: version.era(),
        version,
        capabilities,
        server_info,
        instructions,
        reads_short_calls: false,
    }))
}

/// The content of a file; nothing where it is too large.
fn read_file(path: &Path) -> io::Result<Option<Bytes>> {
    let mut content = Vec::new();
    let file = File::open(path)?;
    content.reserve_exact(usize::try_from(file.metadata()?.len().min(MAX_FILE)).unwrap_or(0));
    file.take(MAX_FILE + 1).read_to_end(&mut content)?;
    Ok((content.len() as u64 <= MAX_FILE).then(|| Bytes::from(content)))
}

/// Puts a new file in the place of the old one, readable by its owner alone; a reader sees either the old or the new.
fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let new = path.with_extension("new");
    match fs::remove_file(&new) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(cause),
        _ => {}
    }
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&new, path)
    };
    write().inspect_err(|_| drop(fs::remove_file(&new)))
}

#[cfg(test)]
mod tests;
