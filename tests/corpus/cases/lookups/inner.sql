-- An inner lookup drops the rows whose key is NULL or not there; WHERE sees the table's columns.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE numbers (id BIGINT PRIMARY KEY, label TEXT, tags TEXT[], inside STRUCT<n INT>, file TEXT METADATA FROM 'filename')
WITH (connector = 'filesystem', path = '$inputs/lookup_parts', format = 'json', type = 'lookup');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT e.key, label, tags, inside, inside.n IS NULL AS empty FROM events AS e JOIN numbers AS n ON n.id = e.value
WHERE label <> 'one';
