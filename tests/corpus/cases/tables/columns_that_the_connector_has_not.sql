-- Columns that are declared must be the connector's.
--: error sql.table_column 4:14 connector impulse has no column counter TEXT
--: error sql.table_column 5:14 connector impulse has no column other BIGINT
CREATE TABLE t (counter TEXT) WITH (connector = 'impulse', event_rate = 10);
CREATE TABLE u (other BIGINT) WITH (connector = 'impulse', event_rate = 10);
SELECT counter FROM t;
