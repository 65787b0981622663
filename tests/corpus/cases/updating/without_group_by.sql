-- Aggregates without GROUP BY are one row that changes.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE changes WITH (connector = 'single_file', path = '/changes.json', format = 'debezium_json', type = 'sink');
INSERT INTO changes SELECT min(value) AS low, max(value) AS high, count(*) AS n FROM events WHERE active;
