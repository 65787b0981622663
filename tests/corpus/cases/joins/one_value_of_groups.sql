-- Beside GROUP BY, a sub-query for one value is joined to the groups, whose keys it may look at.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '$inputs/clicks.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
CREATE VIEW e AS SELECT tumble('1 minute') AS window, key, count(*) AS n FROM events GROUP BY window, key;
INSERT INTO out SELECT window.start, sum(n) AS n, (SELECT count(*) FROM e) AS keys FROM e GROUP BY window HAVING sum(n) >= (SELECT 2 * min(n) FROM e);
INSERT INTO out SELECT tumble('1 minute').start, sum(length(key)) AS n, (SELECT max(n) FROM e AS f WHERE f.key = c.key) AS keys FROM clicks AS c GROUP BY tumble('1 minute'), key;
