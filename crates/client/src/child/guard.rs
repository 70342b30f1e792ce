//! The process that ends all children's process groups when we are gone, however we went.
//!
//! One guard per process: made by `fork` without `exec`, so that no second program is needed. It waits on a socket for
//! process groups to watch over, and when the other end closes, which the kernel does even after SIGKILL, it kills all
//! groups that are left. A child enters itself between `fork` and `exec`, so there is no moment at which it is unknown.
//!
//! This is the only file with system calls that the standard library does not wrap.

#![expect(unsafe_code, reason = "fork, prctl, kill and socketpair have no safe form in the standard library")]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::OnceLock;

use tokio::process::Command;

/// How many groups the guard can know at a time.
const MOST_GROUPS: usize = 4096;

/// A child's process group: ended with SIGKILL when dropped, if it was not before.
#[derive(Debug)]
pub(super) struct Group {
    id: i32,
    ended: bool,
}

impl Group {
    /// The group of the child with this process id.
    pub(super) fn led_by(process: u32) -> Group {
        Group { id: i32::try_from(process).unwrap_or_default(), ended: false }
    }

    /// Asks all processes of the group to end.
    pub(super) fn terminate(&self) {
        if !self.ended {
            self.signal(libc::SIGTERM);
        }
    }

    /// Ends all processes of the group. Does nothing the second time, when the number may mean another group.
    pub(super) fn kill(&mut self) {
        if !std::mem::replace(&mut self.ended, true) {
            self.signal(libc::SIGKILL);
            tell(-self.id);
        }
    }

    fn signal(&self, signal: i32) {
        // Group 0 would be our own, group 1 everything.
        if self.id > 1 {
            // SAFETY: kill has no memory effects; the group is one that we made.
            unsafe { libc::kill(-self.id, signal) };
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Makes a command lead its own group, die with us, and enter itself with the guard.
pub(super) fn watch_over(command: &mut Command) {
    command.process_group(0);
    let socket = guard_socket();
    let parent = std::process::id();
    // SAFETY: between fork and exec only system calls are made, and nothing is allocated.
    unsafe {
        command.pre_exec(move || {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            if libc::getppid().cast_unsigned() != parent {
                libc::_exit(1);
            }
            if let Some(socket) = socket {
                send(socket, libc::getpid());
            }
            Ok(())
        });
    }
}

/// The guard's socket; the guard is made with the first call. Nothing where it cannot be made: children still have
/// their parent-death signal.
fn guard_socket() -> Option<RawFd> {
    static SOCKET: OnceLock<Option<OwnedFd>> = OnceLock::new();
    let socket = SOCKET.get_or_init(|| match start() {
        Ok(socket) => Some(socket),
        Err(error) => {
            tracing::warn!(%error, "no guard process: if this process is killed, grandchildren may stay");
            None
        }
    });
    socket.as_ref().map(AsRawFd::as_raw_fd)
}

fn tell(group: i32) {
    if let Some(socket) = guard_socket() {
        send(socket, group);
    }
}

/// Tells the guard of a group (positive) or that it is gone (negative). Safe to call between fork and exec.
fn send(socket: RawFd, group: i32) {
    let message = group.to_ne_bytes();
    // SAFETY: the buffer lives during the call; a closed socket gives an error, not a signal.
    unsafe { libc::send(socket, message.as_ptr().cast(), message.len(), libc::MSG_NOSIGNAL) };
}

fn start() -> io::Result<OwnedFd> {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for the two descriptors.
    if unsafe {
        libc::socketpair(libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, 0, ends.as_mut_ptr())
    } != 0
    {
        return Err(io::Error::last_os_error());
    }
    let [near, far] = ends;
    // SAFETY: both descriptors were just made and belong to nobody else.
    let (near, far) = unsafe { (OwnedFd::from_raw_fd(near), OwnedFd::from_raw_fd(far)) };
    // SAFETY: the new process calls only `guard`, which makes system calls and allocates nothing.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => guard(far.as_raw_fd()),
        _ => Ok(near),
    }
}

/// What the guard does. Only async-signal-safe calls: the process was forked from one with many threads.
fn guard(socket: RawFd) -> ! {
    let mut groups = [0_i32; MOST_GROUPS];
    let mut known = 0;
    // SAFETY: system calls on descriptors and buffers of this process only; it never returns to the caller's code.
    unsafe {
        libc::setsid();
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT] {
            libc::signal(signal, libc::SIG_IGN);
        }
        libc::prctl(libc::PR_SET_NAME, c"child-guard".as_ptr());
        libc::dup2(socket, 0);
        libc::syscall(libc::SYS_close_range, 1_u32, u32::MAX, 0_u32);
        loop {
            let mut message = [0_u8; 4];
            let length = libc::recv(0, message.as_mut_ptr().cast(), message.len(), 0);
            if length == -1 && *libc::__errno_location() == libc::EINTR {
                continue;
            }
            if length != 4 {
                break;
            }
            known = note(&mut groups, known, i32::from_ne_bytes(message));
        }
        for group in groups.iter().take(known) {
            libc::kill(-group, libc::SIGKILL);
        }
        libc::_exit(0);
    }
}

/// Enters a group (positive) or takes it out (negative); gives the new number of entries.
fn note(groups: &mut [i32; MOST_GROUPS], known: usize, message: i32) -> usize {
    if message > 1 {
        if let Some(place) = groups.get_mut(known) {
            *place = message;
            return known + 1;
        }
        return known;
    }
    let mut at = 0;
    while at < known {
        if groups.get(at).copied() == message.checked_neg() {
            groups.swap(at, known - 1);
            return known - 1;
        }
        at += 1;
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guard_knows_the_groups_that_are_left() {
        let mut groups = [0; MOST_GROUPS];
        let mut known = 0;
        for message in [10, 20, 30, -20, -99, 40, -10] {
            known = note(&mut groups, known, message);
        }
        let mut left = groups[..known].to_vec();
        left.sort_unstable();
        assert_eq!(left, [30, 40]);
        for group in 100..100 + MOST_GROUPS as i32 {
            known = note(&mut groups, known, group);
        }
        assert_eq!(known, MOST_GROUPS);
    }
}
