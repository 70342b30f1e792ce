//! The allocator of the process: mimalloc, asked as `malloc` is where that will do.
//!
//! The usual wrapper names an alignment with every request. Blocks of more than a kilobyte are then found in a roundabout way and
//! made larger than they need be, although every block of mimalloc that is large enough stands at a multiple of 16 anyway. A
//! call of a tool needs several such blocks: a fortieth of all instructions that a call of a Python handler took were spent on that.

use std::alloc::{GlobalAlloc, Layout};

use libmimalloc_sys::{mi_malloc, mi_realloc, mi_zalloc};
use mimalloc::MiMalloc;

/// The alignment that every block has which is not smaller itself, as C wants it of `malloc`.
const NATURAL: usize = 16;

/// See the [module](self).
pub(crate) struct Allocator;

#[expect(
    unsafe_code,
    reason = "what is asked of an allocator is what mimalloc is asked: who calls keeps the one contract by keeping the other"
)]
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_natural(layout.size(), layout.align()) {
            unsafe { mi_malloc(layout.size()).cast() }
        } else {
            unsafe { MiMalloc.alloc(layout) }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_natural(layout.size(), layout.align()) {
            unsafe { mi_zalloc(layout.size()).cast() }
        } else {
            unsafe { MiMalloc.alloc_zeroed(layout) }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if is_natural(size, layout.align()) {
            unsafe { mi_realloc(block.cast(), size).cast() }
        } else {
            unsafe { MiMalloc.realloc(block, layout, size) }
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        unsafe { MiMalloc.dealloc(block, layout) }
    }
}

/// Whether a block of this size has this alignment without being asked for it.
const fn is_natural(size: usize, alignment: usize) -> bool {
    alignment <= NATURAL && alignment <= size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(unsafe_code, reason = "blocks are used as allocators are used, within their sizes")]
    fn every_block_stands_where_it_was_asked_for() {
        let sizes = (1..300).chain((300..70_000).step_by(611));
        for (size, alignment) in
            sizes.flat_map(|size| [1, 2, 4, 8, 16, 32, 4096].map(|alignment| (size, alignment)))
        {
            let layout = Layout::from_size_align(size, alignment).unwrap();
            let (mut small, zeroed) = unsafe { (Allocator.alloc(layout), Allocator.alloc_zeroed(layout)) };
            let zeros = unsafe { std::slice::from_raw_parts(zeroed, size) };
            assert!(zeros.iter().all(|byte| *byte == 0));
            unsafe { small.write_bytes(7, size) };
            let larger = Layout::from_size_align(size * 3, alignment).unwrap();
            small = unsafe { Allocator.realloc(small, layout, larger.size()) };
            let kept = unsafe { std::slice::from_raw_parts(small, size) };
            assert!(kept.iter().all(|byte| *byte == 7));
            assert_eq!((small.addr() % alignment, zeroed.addr() % alignment), (0, 0), "{size} {alignment}");
            unsafe {
                Allocator.dealloc(small, larger);
                Allocator.dealloc(zeroed, layout);
            }
        }
    }
}
