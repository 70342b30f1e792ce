"""Orders and inventory of a small shop, on SQLite."""
