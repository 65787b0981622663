-- Clauses that a stream cannot have, each at its word.
--: error sql.unsupported 17:24 ORDER BY is not supported
--: error sql.unsupported 18:24 LIMIT is not supported
--: error sql.unsupported 19:24 OFFSET is not supported
--: error sql.unsupported 20:24 FETCH is not supported
--: error sql.unsupported 21:12 INTO is not supported
--: error sql.unsupported 22:24 FOR UPDATE is not supported
--: error sql.unsupported 23:24 SORT BY is not supported
--: error sql.unsupported 24:24 DISTRIBUTE BY is not supported
--: error sql.unsupported 25:24 CLUSTER BY is not supported
--: error sql.unsupported 26:24 PIVOT is not supported
--: error sql.unsupported 27:24 LATERAL VIEW is not supported
--: error sql.unsupported 29:24 HAVING needs GROUP BY
--: error sql.unsupported 30:41 ORDER BY is not supported
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT key FROM events ORDER BY key;
SELECT key FROM events LIMIT 1;
SELECT key FROM events OFFSET 3;
SELECT key FROM events FETCH FIRST 1 ROW ONLY;
SELECT key INTO x FROM events;
SELECT key FROM events FOR UPDATE;
SELECT key FROM events SORT BY key;
SELECT key FROM events DISTRIBUTE BY key;
SELECT key FROM events CLUSTER BY key;
SELECT key FROM events PIVOT (count(*) FOR key IN ('a'));
SELECT key FROM events LATERAL VIEW explode(tags) t AS x;
SELECT count(*) FROM events GROUP BY ALL;
SELECT key FROM events HAVING key = 'a';
SELECT key FROM (SELECT key FROM events ORDER BY key) WHERE nothing;
