-- Within windows, a row is asked for among the rows of the same window.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '$inputs/clicks.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
CREATE VIEW e AS SELECT tumble('1 minute') AS window, key, count(*) AS n FROM events GROUP BY window, key;
CREATE VIEW c AS SELECT tumble('1 minute') AS window, key, page, count(*) AS n FROM clicks GROUP BY window, key, page;
INSERT INTO out SELECT window.start, key, n FROM e WHERE coalesce(key, '') NOT IN (SELECT coalesce(key, '') FROM c);
INSERT INTO out SELECT window.start, key, 0 FROM e WHERE NOT EXISTS (SELECT 1 FROM c WHERE c.window = e.window AND c.key = e.key);
