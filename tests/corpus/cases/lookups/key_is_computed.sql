-- The left side of the equality may be any expression; the key has the table's type.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE numbers (id BIGINT PRIMARY KEY, label TEXT, tags TEXT[], inside STRUCT<n INT>, file TEXT METADATA FROM 'filename')
WITH (connector = 'filesystem', path = '$inputs/lookup_parts', format = 'json', type = 'lookup');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT value, label FROM events LEFT JOIN numbers ON CAST(value % 100 AS INT) = id;
