-- A memory table is a pipe with types of its own.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE m (name TEXT, n TEXT);
INSERT INTO m SELECT key, value FROM events;
SELECT n FROM m WHERE name = 'a';
