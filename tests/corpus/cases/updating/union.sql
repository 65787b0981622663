-- UNION is a DISTINCT over UNION ALL; the names are those of the first side.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE changes WITH (connector = 'single_file', path = '/changes.json', format = 'debezium_json', type = 'sink');
INSERT INTO changes
SELECT key, value FROM events UNION ALL SELECT key, 0 FROM events UNION SELECT upper(key), value FROM events;
