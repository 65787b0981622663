-- Sub-queries that do not stand for one value, or stand where none can be joined.
--: error sql.unsupported 18:8 a sub-query used as a value must return one row
--: error sql.unsupported 19:8 a sub-query used as a value must return one row
--: error sql.unsupported 20:8 a sub-query used as a value must return one row
--: error sql.unsupported 21:43 aggregates of a sub-query match the rows around it with = only
--: error sql.window_mismatch 22:38 the right side of the join has a window and the left side has none
--: error sql.unsupported 24:11 a sub-query over sessions cannot be used as a value
--: error sql.unsupported 25:12 (SELECT count(*) FROM clicks) is not supported here
--: error sql.unknown_column 26:102 there is no column 'value' here
--: error sql.unsupported 27:60 a sub-query used as a value must return one row
--: error sql.window_mismatch 28:75 the left side of the join has a window and the right side has none
--: error sql.unknown_column 29:57 there is no column 'nothing' here
--: error sql.unsupported 30:36 a sub-query used as a value must return one row
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '$inputs/clicks.jsonl', format = 'json', type = 'source', event_time_field = 'at');
SELECT (SELECT page FROM clicks WHERE clicks.key = events.key) FROM events;
SELECT (SELECT max(page), min(page) FROM clicks) FROM events;
SELECT (SELECT max(page) FROM clicks GROUP BY key) FROM events;
SELECT key FROM events AS e WHERE value > (SELECT count(*) FROM clicks WHERE clicks.page < e.key);
SELECT key FROM events WHERE value > (SELECT count(*) FROM (SELECT session('1 minute') AS w, count(*) AS n FROM clicks GROUP BY 1));
SELECT m FROM (SELECT tumble('1 minute') AS w, count(*) AS m FROM events GROUP BY 1)
WHERE m = (SELECT max(n) FROM (SELECT count(*) AS n FROM clicks GROUP BY session('1 minute')));
SELECT sum((SELECT count(*) FROM clicks)) FROM events GROUP BY key;
SELECT key FROM events AS e GROUP BY key HAVING count(*) > (SELECT count(*) FROM clicks WHERE page = e.value);
SELECT key FROM events AS e GROUP BY key HAVING count(*) > (SELECT page FROM clicks);
SELECT count(*) FROM events GROUP BY tumble('1 minute') HAVING count(*) > (SELECT count(*) FROM clicks);
SELECT key FROM events AS e WHERE value > (SELECT count(nothing) FROM clicks WHERE clicks.key = e.key);
SELECT key FROM events WHERE key = (SELECT 'a' FROM clicks);
