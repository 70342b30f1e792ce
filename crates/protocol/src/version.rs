//! The published revisions of the protocol and which one is spoken.

use crate::era::Era;

/// A published revision, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
}

impl Version {
    /// All revisions, newest first, as they are offered.
    pub const ALL: [Version; 5] = [
        Version::V2026_07_28,
        Version::V2025_11_25,
        Version::V2025_06_18,
        Version::V2025_03_26,
        Version::V2024_11_05,
    ];

    /// The newest revision with an `initialize` handshake.
    pub const NEWEST_LEGACY: Version = Version::V2025_11_25;

    /// The newest revision.
    pub const NEWEST: Version = Version::V2026_07_28;

    /// The revision with this date.
    pub fn dated(date: &str) -> Option<Version> {
        Version::ALL.into_iter().find(|version| version.date() == date)
    }

    /// Its date, which is its name on the wire.
    pub fn date(self) -> &'static str {
        match self {
            Version::V2024_11_05 => "2024-11-05",
            Version::V2025_03_26 => "2025-03-26",
            Version::V2025_06_18 => "2025-06-18",
            Version::V2025_11_25 => "2025-11-25",
            Version::V2026_07_28 => "2026-07-28",
        }
    }

    /// The era it belongs to.
    pub fn era(self) -> Era {
        if self == Version::V2026_07_28 { Era::Modern } else { Era::Legacy }
    }

    /// What to answer a legacy client that asks for `requested`: the same where we speak it, else our newest legacy.
    pub fn negotiate_legacy(requested: &str) -> Version {
        Version::dated(requested)
            .filter(|version| version.era() == Era::Legacy)
            .unwrap_or(Version::NEWEST_LEGACY)
    }

    /// Whether several messages may stand in one array.
    pub fn has_batches(self) -> bool {
        self == Version::V2025_03_26
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_legacy_client_gets_what_it_asks_for_where_we_speak_it() {
        let check = |requested, expected| assert_eq!(Version::negotiate_legacy(requested), expected);
        check("2024-11-05", Version::V2024_11_05);
        check("2025-03-26", Version::V2025_03_26);
        check("2025-06-18", Version::V2025_06_18);
        check("2025-11-25", Version::V2025_11_25);
        check("2026-07-28", Version::V2025_11_25);
        check("1.0", Version::V2025_11_25);
        check("", Version::V2025_11_25);
    }

    #[test]
    fn revisions_are_known_by_their_dates_newest_first() {
        assert!(Version::ALL.is_sorted_by(|newer, older| newer > older));
        for version in Version::ALL {
            assert_eq!(Version::dated(version.date()), Some(version));
            assert_eq!(version.era() == Era::Modern, version == Version::NEWEST);
            assert_eq!(version.has_batches(), version.date() == "2025-03-26");
        }
        assert_eq!(Version::dated("2026-07-29"), None);
    }
}
