-- HAVING is a filter over changes, and may use an aggregate that is not selected.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE changes WITH (connector = 'single_file', path = '/changes.json', format = 'debezium_json', type = 'sink');
INSERT INTO changes SELECT key, count(*) AS n FROM events GROUP BY key HAVING sum(value) > 10 AND n > 1;
