-- A condition of an outer join leaves rows alone, a condition above it leaves them out.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '$inputs/clicks.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
CREATE VIEW e AS SELECT tumble('5 minutes') AS w, key, count(*) AS n FROM events GROUP BY w, key;
CREATE VIEW c AS SELECT tumble('5 minutes') AS w, key, count(*) AS n FROM clicks GROUP BY w, key;
INSERT INTO out SELECT 'left' AS t, e.key AS e, c.key AS c FROM e LEFT JOIN c ON e.w = c.w AND e.key = c.key AND e.n > 2 WHERE e.key IS NOT NULL;
INSERT INTO out SELECT 'left null' AS t, e.key AS e, c.key AS c FROM e LEFT JOIN c ON e.w = c.w AND e.key = c.key AND c.n > 1 WHERE c.key IS NULL;
INSERT INTO out SELECT 'right' AS t, e.key AS e, c.key AS c FROM e RIGHT JOIN c ON e.w = c.w AND e.key = c.key AND c.n > 1 WHERE c.n > 0 AND e.n IS NULL;
INSERT INTO out SELECT 'full' AS t, e.key AS e, c.key AS c FROM e FULL JOIN c ON e.w = c.w AND e.key = c.key AND e.n = 1 WHERE e.n = 1 OR c.n = 1;
