-- Sessions meet when they are the same.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '$inputs/clicks.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
CREATE VIEW e AS SELECT tumble('1 minute') AS window, key, count(*) AS n FROM events GROUP BY window, key;
CREATE VIEW c AS SELECT tumble('1 minute') AS window, key, count(*) AS n FROM clicks GROUP BY window, key;
INSERT INTO out SELECT a.w.start, a.n, b.most FROM (SELECT session('2 minutes') AS w, count(*) AS n FROM events GROUP BY w) AS a
JOIN (SELECT session('2 minutes') AS w, max(value) AS most FROM events GROUP BY w) AS b ON a.w = b.w;
