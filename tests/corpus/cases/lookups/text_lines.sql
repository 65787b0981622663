-- Lines of a file can be a set of keys, and tell where they stand.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TEMPORARY TABLE seen (value TEXT PRIMARY KEY, line BIGINT METADATA FROM 'line')
WITH (connector = 'filesystem', path = '$inputs/keys.txt', format = 'raw_string');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT e.key, seen.line, seen.value IS NOT NULL AS is_seen FROM events AS e LEFT JOIN seen ON upper(e.key) = seen.value;
