-- All aggregates may stand before OVER, those of Spark's that take no order as well.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out SELECT key, median(v) OVER (PARTITION BY w ORDER BY key) AS middle,
  median(CAST(v AS DOUBLE)) OVER (PARTITION BY w ORDER BY key) AS exact,
  string_agg(key, '+') OVER (PARTITION BY w ORDER BY key) AS keys,
  bool_or(v > 2) OVER (PARTITION BY w ORDER BY key ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS large,
  regr_count(v, n) OVER (PARTITION BY w) AS pairs
FROM (SELECT tumble('2 minutes') AS w, key, max(value) AS v, count(*) AS n FROM events GROUP BY w, key);
