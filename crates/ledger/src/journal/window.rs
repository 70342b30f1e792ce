//! A file read from front to back through one buffer, so that what is looked at need not be copied.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};

/// How much is read at a time, unless more is wanted.
const READ_AT_ONCE: usize = 128 << 10;

/// What was read of a file and not passed yet.
#[derive(Debug)]
pub(super) struct Window {
    file: File,
    buffer: Vec<u8>,
    passed: usize,
    filled: usize,
}

impl Window {
    /// Begins where `file` stands.
    pub(super) fn new(file: File) -> Self {
        Self { file, buffer: vec![0; READ_AT_ONCE], passed: 0, filled: 0 }
    }

    /// The next `wanted` bytes. It is an error if the file ends before.
    pub(super) fn next(&mut self, wanted: usize) -> io::Result<&[u8]> {
        if self.filled - self.passed < wanted {
            self.fill(wanted)?;
        }
        self.buffer.get(self.passed..self.passed + wanted).ok_or_else(|| ErrorKind::UnexpectedEof.into())
    }

    /// Passes bytes that [`Window::next`] has shown.
    pub(super) fn pass(&mut self, bytes: usize) {
        self.passed = self.filled.min(self.passed + bytes);
    }

    /// The last `bytes` that were passed.
    pub(super) fn passed(&self, bytes: usize) -> &[u8] {
        self.buffer.get(self.passed.saturating_sub(bytes)..self.passed).unwrap_or_default()
    }

    /// Goes on at `offset` of the file.
    pub(super) fn jump(&mut self, offset: u64) -> io::Result<()> {
        (self.passed, self.filled) = (0, 0);
        self.file.seek(SeekFrom::Start(offset)).map(drop)
    }

    fn fill(&mut self, wanted: usize) -> io::Result<()> {
        self.buffer.copy_within(self.passed..self.filled, 0);
        self.filled -= self.passed;
        self.passed = 0;
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted, 0);
        }
        while self.filled < wanted {
            match self.file.read(self.buffer.get_mut(self.filled..).unwrap_or_default()) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => self.filled += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pieces_of_any_size_are_those_of_the_file(
            sizes in proptest::collection::vec(0usize..3 * READ_AT_ONCE / 2, 1..8),
        ) {
            let content: Vec<u8> = (0..300_000u32).flat_map(u32::to_le_bytes).take(5 * READ_AT_ONCE).collect();
            let file = tempfile::NamedTempFile::new().unwrap();
            fs::write(file.path(), &content).unwrap();
            let mut window = Window::new(File::open(file.path()).unwrap());
            let mut at = 0;
            for size in sizes {
                match content.get(at..at + size) {
                    Some(expected) => prop_assert_eq!(window.next(size).unwrap(), expected),
                    None => prop_assert_eq!(window.next(size).unwrap_err().kind(), ErrorKind::UnexpectedEof),
                }
                // What was not passed is shown again.
                if at + size <= content.len() && size % 3 != 0 {
                    window.pass(size);
                    prop_assert_eq!(window.passed(size), &content[at..at + size]);
                    at += size;
                }
            }
            window.jump(7).unwrap();
            prop_assert_eq!(window.next(9).unwrap(), &content[7..16]);
        }
    }
}
