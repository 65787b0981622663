-- Rows that change go to sinks of changes, to a preview, to the sink of a bare SELECT, and to one that drops all.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE changes WITH (connector = 'single_file', path = '/changes.json', format = 'debezium_json', type = 'sink');
CREATE TABLE shown WITH (connector = 'preview');
CREATE TABLE dropped WITH (connector = 'blackhole');
CREATE VIEW counts AS SELECT key, count(*) AS n FROM events GROUP BY key;
INSERT INTO changes SELECT key, n FROM counts;
INSERT INTO shown SELECT key, n FROM counts;
INSERT INTO shown SELECT key, value FROM events;
INSERT INTO dropped SELECT key, n FROM counts;
SELECT key, n FROM counts;
