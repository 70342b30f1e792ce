//! What the tests from outside have beside themselves: see the programs in `bin`.
