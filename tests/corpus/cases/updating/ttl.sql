-- SET updating_ttl holds for the statements behind it.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE changes WITH (connector = 'single_file', path = '/changes.json', format = 'debezium_json', type = 'sink');
INSERT INTO changes SELECT count(*) AS n FROM events;
SET updating_ttl = INTERVAL '5' SECOND;
INSERT INTO changes SELECT count(*) AS n FROM events;
SET updating_ttl TO '2 days';
INSERT INTO changes SELECT DISTINCT value FROM events;
