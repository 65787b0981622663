-- What a join within a window gives can be ranked.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '$inputs/clicks.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
CREATE VIEW e AS SELECT tumble('2 minutes') AS window, key, count(*) AS n, max(value) AS v FROM events GROUP BY window, key;
INSERT INTO out SELECT e.window.start, e.key, c.key AS other, row_number() OVER (PARTITION BY e.window ORDER BY e.n + c.n DESC, e.key, c.key) AS place
FROM e JOIN (SELECT tumble('2 minutes') AS window, key, count(*) AS n FROM clicks GROUP BY window, key) AS c ON e.window = c.window AND e.n <> c.n;
