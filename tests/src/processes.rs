//! What `/proc` says of processes: who is left, how much memory, how many open files.

use std::fs;
use std::process::Command;

/// A process that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub id: u32,
    /// The number of its parent.
    pub parent: u32,
    /// `R`, `S`, `Z` and so on.
    pub state: char,
    /// Its command line.
    pub command: String,
}

/// All processes whose environment has this text. A dead one that nobody has waited for has no environment.
pub fn with_environment(text: &str) -> Vec<Process> {
    all()
        .filter(|process| {
            fs::read(format!("/proc/{}/environ", process.id))
                .is_ok_and(|environment| contains(&environment, text.as_bytes()))
        })
        .collect()
}

/// The children of a process, dead ones that it has not waited for included.
pub fn children(parent: u32) -> Vec<Process> {
    all().filter(|process| process.parent == parent).collect()
}

/// Whether there is such a process, dead ones that wait for their parent excluded.
pub fn is_alive(id: u32) -> bool {
    stat(id).is_some_and(|process| process.state != 'Z')
}

/// The memory that a process has in use, in kB.
pub fn resident_kilobytes(id: u32) -> u64 {
    status_number(id, "VmRSS:")
}

/// The most memory that a process ever had in use, in kB.
pub fn peak_kilobytes(id: u32) -> u64 {
    status_number(id, "VmHWM:")
}

/// How many files a process has open.
pub fn open_files(id: u32) -> usize {
    fs::read_dir(format!("/proc/{id}/fd")).map_or(0, Iterator::count)
}

/// How many pipes, sockets and the like a process has open: what leads to other processes, not to files.
pub fn open_channels(id: u32) -> usize {
    let links = fs::read_dir(format!("/proc/{id}/fd")).unwrap().filter_map(Result::ok);
    links.filter(|link| fs::read_link(link.path()).is_ok_and(|target| !target.starts_with("/"))).count()
}

/// Sends a signal by its name, such as `TERM`, to one process.
pub fn signal(id: u32, name: &str) {
    signal_all(&[id], name);
}

/// The same to several processes, all of which must be there.
pub fn signal_all(ids: &[u32], name: &str) {
    let ids: Vec<_> = ids.iter().map(u32::to_string).collect();
    let sent = Command::new("kill").arg(format!("-{name}")).args(&ids).output().unwrap();
    assert!(sent.status.success(), "kill -{name} {ids:?}: {}", String::from_utf8_lossy(&sent.stderr));
}

fn all() -> impl Iterator<Item = Process> {
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(stat)
}

fn stat(id: u32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name of the program is in brackets and may have anything in it.
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let state = fields.next()?.chars().next()?;
    let parent = fields.next()?.parse().ok()?;
    let command = fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap_or_default().replace('\0', " ");
    Some(Process { id, parent, state, command })
}

fn status_number(id: u32, field: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}
