-- Sub-queries that do not stand for one value, or stand where none can be joined.
--: error sql.unsupported 15:8 a sub-query that stands for a value must give one row
--: error sql.unsupported 16:8 a sub-query that stands for a value must give one row
--: error sql.unsupported 17:8 a sub-query that stands for a value must give one row
--: error sql.unsupported 18:43 aggregates of a sub-query match the rows around it with = only
--: error sql.window_mismatch 19:38 can't handle mixed windowing between left (non-windowed) and right (windowed).
--: error sql.unsupported 21:11 a sub-query over sessions cannot stand for a value
--: error sql.unsupported 22:13 (SELECT count(*) FROM clicks) is not supported here
--: error sql.unknown_column 23:57 no column 'nothing' here
--: error sql.unsupported 24:36 a sub-query that stands for a value must give one row
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
SELECT key, (SELECT count(*) FROM clicks) FROM events GROUP BY key;
SELECT key FROM events AS e WHERE value > (SELECT count(nothing) FROM clicks WHERE clicks.key = e.key);
SELECT key FROM events WHERE key = (SELECT 'a' FROM clicks);
