//! Both ways to find a page agree with looking at every row.

use proptest::prelude::*;

use super::*;
use rusqlite::params;

use crate::store::block::Entry;
use crate::store::block_table::BlockWriter;
use crate::store::schema::create;

type Call = (i64, u8, u8, u8, u8);

/// An index with these calls: time, caller, server, tool, status.
fn index(calls: &[Call]) -> Connection {
    let mut connection = Connection::open_in_memory().unwrap();
    create(&mut connection).unwrap();
    connection.execute("INSERT INTO replica VALUES (1, 'local-0', 0, 0)", []).unwrap();
    for number in 0..4i64 {
        connection
            .execute("INSERT INTO name VALUES (?1, ?2)", params![number + 1, format!("n{number}")])
            .unwrap();
    }
    let mut blocks = BlockWriter::new(&connection);
    for (sequence, (time_us, caller, server, tool, status)) in (1..).zip(calls) {
        let key = params![caller + 1, server + 1, tool + 1, status + 1, time_us];
        let series: i64 = connection
            .query_row(
                "INSERT INTO series (caller, server, tool, kind, status, last_us) VALUES (?1, ?2, ?3, 1, ?4, ?5)
                 ON CONFLICT DO UPDATE SET last_us = max(last_us, excluded.last_us) RETURNING id",
                key,
                |row| row.get(0),
            )
            .unwrap();
        let entry = Entry {
            series,
            time_us: *time_us,
            error_code: None,
            duration_us: 1,
            arguments_size: 2,
            result_size: 3,
            price_settled: 4,
            offset: sequence * 100,
        };
        // Every seventh call begins a segment, and with it a block.
        blocks.push(1, sequence, sequence / 7, entry).unwrap();
    }
    blocks.finish().unwrap();
    drop(blocks);
    connection
}

fn expected(calls: &[Call], filter: &Filter, range: Range, limit: usize) -> Vec<Cursor> {
    let is_named = |wanted: &Option<String>, number: u8| {
        wanted.as_ref().is_none_or(|name| *name == format!("n{number}"))
    };
    let mut found: Vec<_> = (1..)
        .zip(calls)
        .filter(|(_, (_, caller, server, tool, status))| {
            is_named(&filter.caller, *caller)
                && is_named(&filter.server, *server)
                && is_named(&filter.tool, *tool)
                && filter.status.is_none_or(|wanted| wanted.code() == status + 1)
        })
        .map(|(sequence, call)| Cursor { time_us: call.0, id: row_id(1, sequence) })
        .filter(|cursor| cursor.time_us >= range.from_us && *cursor < range.before)
        .collect();
    found.sort_unstable_by(|one, other| other.cmp(one));
    found.truncate(limit);
    found
}

proptest! {
    #[test]
    fn every_way_finds_the_same_page(
        calls in proptest::collection::vec((0i64..60, 0u8..3, 0u8..2, 0u8..4, 0u8..3), 0..80),
        caller in proptest::option::of(0u8..4),
        tool in proptest::option::of(0u8..4),
        server in proptest::option::of(0u8..2),
        status in proptest::option::of(proptest::sample::select(Status::ALL)),
        (from_us, before, limit) in (0i64..60, 0i64..70, 1usize..12),
    ) {
        let name = |number: Option<u8>| number.map(|number| format!("n{number}"));
        let filter = Filter { caller: name(caller), server: name(server), tool: name(tool), status, ..Filter::default() };
        let range = Range { from_us, before: Cursor { time_us: before, id: row_id(1, 30) } };
        let connection = index(&calls);
        let expected = expected(&calls, &filter, range, limit);
        let found = find(&connection, &filter, range, limit).unwrap();
        prop_assert_eq!(found.iter().map(|found| found.cursor).collect::<Vec<_>>(), expected);
        let (conditions, values) = series_conditions(&filter);
        let matches = series_matcher(&connection, &conditions, values);
        prop_assert_eq!(&walk_back(&connection, range, limit, matches).unwrap(), &found);
        let times: Vec<_> = Rows::new(&connection).read(&found).unwrap().iter().map(|row| row.time_us).collect();
        prop_assert_eq!(times, found.iter().map(|found| found.cursor.time_us).collect::<Vec<_>>());
    }
}
