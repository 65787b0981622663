-- Columns that do not fit their target.
--: error sql.column_count 22:13 INSERT is positional: the named columns must be all of the table's, in its order
--: error sql.column_count 23:13 the query has 2 columns, and names are given for 1
--: error sql.column_count 24:13 s has 2 columns, and 1 are inserted
--: error sql.unknown_table 25:39 there is no table 'nowhere'
--: error sql.unknown_table 26:13 there is no table 'nowhere'
--: error sql.unknown_column 26:28 there is no column 'nothing' here
--: error sql.type_mismatch 27:13 column 'b' of s is of type BIGINT, to which INTERVAL cannot be cast
--: error sql.type_mismatch 29:13 all inserts into a table must have the same columns
--: error sql.duplicate_name 30:13 column 'A' is declared twice
--: error sql.unsupported_statement 31:13 INSERT takes a SELECT
--: error sql.unsupported_statement 32:13 INSERT takes a SELECT
--: error sql.unsupported 32:15 DEFAULT is not supported
--: error sql.unsupported 33:45 ON CONFLICT is not supported
--: error sql.unsupported 34:45 RETURNING is not supported
--: error sql.unsupported_statement 35:1 INSERT must be INTO a declared table
--: error sql.unsupported_statement 36:1 INSERT must be INTO a declared table
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE s (a TEXT, b BIGINT) WITH (connector = 'blackhole');
CREATE TABLE t WITH (connector = 'blackhole');
INSERT INTO s (b, a) SELECT value, key FROM events;
INSERT INTO s (a) SELECT key, value FROM events;
INSERT INTO s SELECT key FROM events;
INSERT INTO s SELECT key, active FROM nowhere;
INSERT INTO nowhere SELECT nothing FROM events;
INSERT INTO s SELECT key, at + INTERVAL '1 minute' - at FROM events;
INSERT INTO t SELECT key FROM events;
INSERT INTO t SELECT value FROM events;
INSERT INTO t (a, A) SELECT key, value FROM events;
INSERT INTO s VALUES ('a', 1);
INSERT INTO s DEFAULT VALUES;
INSERT INTO s SELECT key, value FROM events ON CONFLICT DO NOTHING;
INSERT INTO s SELECT key, value FROM events RETURNING a;
INSERT OVERWRITE TABLE s SELECT key, value FROM events;
INSERT INTO x.s SELECT key, value FROM events;
