-- A view is a named query, and can read another one.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE VIEW v AS SELECT key, value FROM events;
CREATE VIEW w (name, n) AS SELECT key, value + 1 FROM v WHERE value > 1;
SELECT * FROM w;
