-- What was looked up can be aggregated and joined without a window.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TEMPORARY TABLE customers (id TEXT PRIMARY KEY, name TEXT, tier INT, rate DECIMAL(5, 2), since TIMESTAMP, vip BOOLEAN)
WITH (connector = 'filesystem', path = '$inputs/keys.csv', format = 'csv');
CREATE TABLE out (name TEXT, tier INT, n BIGINT, total BIGINT)
WITH (connector = 'single_file', path = '$output', format = 'debezium_json', type = 'sink');
CREATE VIEW named AS SELECT key, name, tier, value FROM events LEFT JOIN customers ON key = id;
INSERT INTO out
SELECT a.name, a.tier, a.n, b.value FROM (SELECT name, tier, count(*) AS n FROM named GROUP BY name, tier) AS a
JOIN (SELECT tier, value FROM named WHERE value < 3) AS b ON a.tier = b.tier;
