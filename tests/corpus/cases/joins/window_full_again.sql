-- What a full join gives can be aggregated by its window again.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '$inputs/clicks.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
CREATE VIEW e AS SELECT tumble('1 minute') AS window, key, count(*) AS n FROM events GROUP BY window, key;
CREATE VIEW c AS SELECT tumble('1 minute') AS window, key, count(*) AS n FROM clicks GROUP BY window, key;
INSERT INTO out SELECT window.start, count(*) AS n FROM (SELECT window, e.n AS a, c.n AS b FROM e FULL JOIN c USING (window, key)) GROUP BY tumble('1 minute'), window;
INSERT INTO out SELECT w.start, count(*) AS n FROM (SELECT coalesce(e.window, c.window) AS w, e.n AS a FROM e FULL JOIN c ON e.window = c.window) GROUP BY w;
