"""One file a table: columns, types, nullability, keys, retention. The only place where a column is defined."""
