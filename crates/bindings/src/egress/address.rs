//! Which addresses lie on the public internet.
//!
//! The question is answered by what is public, not by a list of what is dangerous: what is in doubt is not asked.
//! Addresses that carry another one inside (mapped, NAT64) are judged by the one inside.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Blocks of version 4 that are no part of the public internet, with the length of their prefixes.
const NOT_PUBLIC_V4: [(Ipv4Addr, u32); 17] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    // Between a provider and its customers; one cloud keeps its metadata here.
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    // Where most clouds keep the secrets of their machines.
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 31, 196, 0), 24),
    (Ipv4Addr::new(192, 52, 193, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    // Looks public, and is the inside of a cloud.
    (Ipv4Addr::new(168, 63, 129, 16), 32),
    // Multicast, reserved and broadcast.
    (Ipv4Addr::new(224, 0, 0, 0), 3),
];

/// Blocks inside of version 6's global unicast that are no part of the public internet.
const NOT_PUBLIC_V6: [(Ipv6Addr, u32); 5] = [
    // Protocol assignments, Teredo among them.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    // 6to4 leads to the version 4 address inside of it.
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0), 48),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// Whether an address is one of the public internet.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let bits = u32::from(address);
    !NOT_PUBLIC_V4.iter().any(|(block, length)| (bits ^ u32::from(*block)).leading_zeros() >= *length)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(inside) = inside(address) {
        return is_public_v4(inside);
    }
    let bits = u128::from(address);
    let is_global_unicast = bits >> 125 == 0b001;
    is_global_unicast
        && !NOT_PUBLIC_V6.iter().any(|(block, length)| (bits ^ u128::from(*block)).leading_zeros() >= *length)
}

/// The version 4 address that this one stands for.
fn inside(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, high, low] = address.segments();
    let carries = matches!([a, b, c, d, e, f], [0, 0, 0, 0, 0, 0xffff] | [0x64, 0xff9b, 0, 0, 0, 0]);
    carries.then(|| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)))
}
