-- ORDER BY and LIMIT cut the rows of each window, by what is selected or not.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '$inputs/clicks.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
CREATE VIEW e AS SELECT tumble('2 minutes') AS window, key, count(*) AS n, max(value) AS v FROM events GROUP BY window, key;
INSERT INTO out SELECT window.start, key AS k FROM e ORDER BY n DESC, k LIMIT 1 OFFSET 1;
INSERT INTO out SELECT tumble('4 minutes').start, key AS k FROM events GROUP BY tumble('4 minutes'), key ORDER BY count(*) DESC, 2 NULLS FIRST LIMIT 2;
