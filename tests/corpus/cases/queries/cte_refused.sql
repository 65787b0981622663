-- A CTE that is refused does not hide what is wrong behind it; none sees itself.
--: error sql.unknown_column 10:19 there is no column 'nothing' here
--: error sql.unknown_column 10:54 there is no column 'nowhere' here
--: error sql.unknown_table 11:61 there is no table 'r'
--: error sql.unsupported 12:16 a recursive CTE is not supported
--: error sql.column_count 13:6 the relation has 2 columns, and names are given for 1
--: error sql.unknown_table 14:17 there is no table 'a'
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
WITH a AS (SELECT nothing FROM events), b AS (SELECT nowhere FROM events) SELECT c FROM a;
WITH r AS (SELECT key FROM events UNION ALL SELECT key FROM r) SELECT key FROM r;
WITH RECURSIVE r AS (SELECT key FROM events UNION ALL SELECT key FROM r) SELECT key FROM r;
WITH a (x) AS (SELECT key, value FROM events) SELECT x FROM a;
SELECT key FROM a;
