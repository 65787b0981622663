-- A column that is always NULL is text in a sink without columns; a union of nothing but counted rows works.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
CREATE VIEW twice AS SELECT key FROM events UNION ALL SELECT key FROM events;
INSERT INTO out SELECT NULL AS nothing, tumble('1 hour').start AS start, count(*) AS n FROM twice GROUP BY tumble('1 hour');
