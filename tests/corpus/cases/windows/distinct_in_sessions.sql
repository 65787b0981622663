-- A session, and what stands beside an aggregate of all rows, gathers the different values in a set.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out SELECT w.start, keys, odd, mean, most FROM (
  SELECT session('2 minutes') AS w, count(DISTINCT key) AS keys, sum(DISTINCT value % 2) AS odd, avg(DISTINCT value) AS mean, max(DISTINCT value) AS most FROM events GROUP BY w
);
INSERT INTO out SELECT w.start, keys, odd, middle AS mean, 0 AS most FROM (
  SELECT tumble('2 minutes') AS w, count(DISTINCT key) AS keys, sum(DISTINCT value) AS odd, median(CAST(value AS DOUBLE)) AS middle FROM events GROUP BY w
);
