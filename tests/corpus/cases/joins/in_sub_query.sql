-- Rows whose value is in another relation of the same window, each once; NULL is in nothing.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '$inputs/clicks.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
CREATE VIEW e AS SELECT tumble('1 minute') AS window, key, count(*) AS n FROM events GROUP BY window, key;
CREATE VIEW c AS SELECT tumble('1 minute') AS window, key, page, count(*) AS n FROM clicks GROUP BY window, key, page;
INSERT INTO out SELECT window.start, key, n FROM e WHERE key IN (SELECT key FROM c) AND n > 0;
INSERT INTO out SELECT window.start, key, n FROM e WHERE upper(key) IN (SELECT upper(key) FROM c) AND n + 1 IN (SELECT n + 2 FROM c) AND key LIKE '%';
