-- Within windows, a LATERAL query looks at the rows of the same window.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '$inputs/clicks.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
CREATE VIEW e AS SELECT tumble('1 minute') AS window, key, count(*) AS n FROM events GROUP BY window, key;
CREATE VIEW c AS SELECT tumble('1 minute') AS window, key, page, count(*) AS n FROM clicks GROUP BY window, key, page;
INSERT INTO out SELECT e.window.start, e.key, page, g.n FROM e LEFT JOIN LATERAL (SELECT page, c.n + e.n AS n FROM c WHERE c.window = e.window AND c.key = e.key) AS g ON true;
INSERT INTO out SELECT e.window.start, e.key, 'all' AS page, g.n FROM e, LATERAL (SELECT count(*) AS n FROM c WHERE c.window = e.window) AS g;
INSERT INTO out SELECT g.window.start, e.key, 'of ' || page AS page, g.n FROM e, LATERAL (SELECT c.window, page, count(*) AS n FROM c WHERE c.window = e.window GROUP BY c.window, page) AS g;
