//! What is packed comes back, and what is not packed is refused.

use proptest::prelude::*;

use super::*;

fn entry() -> impl Strategy<Value = Entry> {
    let sizes = (any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>());
    (0i64..1 << 40, any::<i64>(), any::<Option<i32>>(), sizes, any::<u64>()).prop_map(
        |(series, time_us, error_code, sizes, offset)| {
            let (duration_us, arguments_size, result_size, price_settled) = sizes;
            Entry {
                series,
                time_us,
                error_code,
                duration_us,
                arguments_size,
                result_size,
                price_settled,
                offset,
            }
        },
    )
}

proptest! {
    #[test]
    fn entries_survive_packing(entries in proptest::collection::vec(entry(), 0..40)) {
        let block = Block { replica: 1, first_sequence: 7, segment: 2, entries };
        let packed = block.pack();
        prop_assert_eq!(&Block::unpack(&packed, block.entries.len()).unwrap(), &block.entries);
        if !packed.is_empty() {
            prop_assert!(Block::unpack(&packed[..packed.len() - 1], block.entries.len()).is_err());
        }
    }

    #[test]
    fn any_bytes_are_unpacked_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Block::unpack(&bytes, usize::MAX);
    }
}

#[test]
fn calls_of_one_caller_take_few_bytes() {
    let entry = |number: u64| Entry {
        series: 3,
        time_us: 1_785_240_000_000_000 + 90 * number.cast_signed(),
        error_code: None,
        duration_us: 1_834,
        arguments_size: 46,
        result_size: 180,
        price_settled: 0,
        offset: 97 + 400 * number,
    };
    let entries: Vec<_> = (0..512).map(entry).collect();
    let block = Block { replica: 1, first_sequence: 1, segment: 0, entries };
    assert!(block.pack().len() < 13 * 512);
    assert_eq!(block.spans().len(), 1);
    assert_eq!(block.span(), block.spans().get(&3).copied());
}
