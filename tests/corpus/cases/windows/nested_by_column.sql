-- An aggregate over windowed rows is grouped by the window that they carry.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
CREATE VIEW per_key AS SELECT tumble('1 minute') AS w, key, count(*) AS n FROM events GROUP BY w, key;
INSERT INTO out SELECT w.start AS start, max(n) AS most, count(*) AS keys FROM per_key GROUP BY w;
