-- An aggregate over an aggregate takes back what has changed below.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE changes WITH (connector = 'single_file', path = '/changes.json', format = 'debezium_json', type = 'sink');
CREATE VIEW counts AS SELECT key, count(*) AS n FROM events GROUP BY key HAVING count(*) > 1;
INSERT INTO changes SELECT n, count(*) AS keys FROM counts GROUP BY n;
