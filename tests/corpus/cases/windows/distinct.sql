-- Different values are kept once in the stream part; what stands beside them is aggregated in two steps.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out SELECT window.start, keys, n, total, mean FROM (
  SELECT tumble('2 minutes') AS window, count(DISTINCT key) AS keys, count(*) AS n, sum(value) FILTER (WHERE active) AS total, avg(value) AS mean
  FROM events GROUP BY window
);
