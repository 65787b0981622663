-- Sub-queries that stand behind IN, or would, and cannot.
--: error sql.column_count 25:30 IN takes a query of 1 column, not of 2 columns
--: error sql.unsupported 26:40 IN with a sub-query is not supported here
--: error sql.window_mismatch 27:30 the right side of the join has a window and the left side has none
--: error sql.function_arguments 28:30 = does not take (BIGINT, TEXT)
--: error sql.unsupported 29:40 IN with a sub-query is not supported here
--: error sql.unsupported 30:25 a query of sessions cannot stand behind IN or EXISTS
--: error sql.unknown_column 31:30 there is no column 'nothing' here
--: error sql.unsupported 32:44 EXISTS(SELECT 1 FROM clicks AS y WHERE y.key = x.key) is not supported here
--: error sql.join 33:35 a join without windows needs an equality of its sides
--: error sql.unknown_column 34:83 there is no column 'nothing' here
--: error sql.unknown_column 35:91 there is no column 'x' here
--: error sql.join 36:62 a join without windows needs an equality of its sides
--: error sql.column_count 38:30 IN takes a query of 2 columns, not of 1 column
--: error sql.unsupported 39:30 NOT IN of several values that may be NULL is not supported
--: error sql.column_count 40:30 IN takes a query of 1 column, not of 4 columns
--: error sql.unsupported 41:38 ALL (SELECT length(page) FROM clicks) is not supported here
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '$inputs/clicks.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
CREATE VIEW e AS SELECT tumble('1 minute') AS window, key, count(*) AS n FROM events GROUP BY window, key;
CREATE VIEW c AS SELECT tumble('1 minute') AS window, key, page, count(*) AS n FROM clicks GROUP BY window, key, page;
SELECT key FROM events WHERE key IN (SELECT key, page FROM clicks);
SELECT key FROM events WHERE active OR key NOT IN (SELECT key FROM clicks);
SELECT key FROM events WHERE key IN (SELECT key FROM c);
SELECT key FROM events WHERE value IN (SELECT key FROM clicks);
SELECT key FROM events WHERE active OR key IN (SELECT key FROM clicks);
SELECT key FROM e WHERE n IN (SELECT count(*) FROM events GROUP BY session('1 minute'));
SELECT key FROM events WHERE nothing IN (SELECT nothing FROM clicks);
SELECT key FROM events AS x WHERE active = EXISTS (SELECT 1 FROM clicks AS y WHERE y.key = x.key);
SELECT key FROM events AS x WHERE EXISTS (SELECT 1 FROM clicks AS y WHERE y.page > x.key);
SELECT key FROM events AS x WHERE EXISTS (SELECT 1 FROM clicks AS y WHERE y.key = x.nothing);
SELECT key FROM events AS x WHERE EXISTS (SELECT max(page) FROM clicks AS y WHERE y.key = x.key);
SELECT key FROM events WHERE key IN (SELECT key FROM clicks, events);
SELECT (SELECT max(key) FROM clicks) FROM events;
SELECT key FROM events WHERE (key, value) IN (SELECT key FROM clicks);
SELECT key FROM events WHERE (key, value) NOT IN (SELECT key, length(page) FROM clicks);
SELECT key FROM events WHERE key IN (SELECT 1, * FROM clicks);
SELECT key FROM events WHERE value > ALL (SELECT length(page) FROM clicks);
