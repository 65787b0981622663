-- What cannot be read.
--: error sql.unsupported 14:1 a query without FROM has no rows to read
--: error sql.join 15:25 a join without windows needs an equality of its sides
--: error sql.unsupported 16:15 cannot read from range(10)
--: error sql.unsupported 17:24 cannot read from (VALUES (1)) AS t(a)
--: error sql.unknown_table 18:15 there is no table 'nowhere'
--: error sql.unknown_table 19:15 there is no table 'evnts'
--: error sql.column_count 20:25 the relation has 4 columns, and names are given for 2
--: error sql.unsupported 21:15 cannot read from x.events
--: error sql.unsupported 22:22 ONLY is not supported
--: error sql.unsupported 23:24 TABLESAMPLE is not supported
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT 1;
SELECT key FROM events, events AS e;
SELECT * FROM range(10);
SELECT * FROM (VALUES (1)) AS t(a);
SELECT * FROM nowhere;
SELECT * FROM evnts;
SELECT * FROM events AS e(a, b);
SELECT * FROM x.events;
SELECT key FROM ONLY events;
SELECT key FROM events TABLESAMPLE (10 PERCENT);
