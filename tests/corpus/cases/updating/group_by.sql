-- An aggregate without a window changes its row with every epoch.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE changes WITH (connector = 'single_file', path = '/changes.json', format = 'debezium_json', type = 'sink');
INSERT INTO changes SELECT key, count(*) AS n, sum(value) FILTER (WHERE active) AS active FROM events GROUP BY key;
