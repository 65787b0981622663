-- A window without an alias gives way to any column of its name, and is still there with its table.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '$inputs/clicks.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
CREATE VIEW e AS SELECT tumble(INTERVAL '1 minute'), key FROM events GROUP BY 1, 2;
INSERT INTO out WITH c AS (SELECT tumble(INTERVAL '1 minute') AS minute, key, count(*) AS window FROM clicks GROUP BY 1, 2)
SELECT window AS clicks, e.window.start FROM (SELECT * FROM e) e LEFT JOIN c ON e.key = c.key;
