-- NULL without a type is unknown in each place that wants a condition, and NULL of the type that is wanted elsewhere.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out SELECT
  CASE WHEN NULL THEN 1 ELSE 2 END AS never,
  CASE WHEN value > 0 THEN 1 WHEN NULL THEN 3 ELSE 2 END AS between_others,
  CASE value WHEN NULL THEN 1 ELSE 2 END AS compared,
  CASE NULL WHEN 1 THEN 1 ELSE 2 END AS compared_with,
  CASE WHEN NOT NULL THEN 1 ELSE 0 END AS negated,
  CASE WHEN active AND NULL THEN 1 ELSE 0 END AS both,
  CASE WHEN active OR NULL THEN 1 ELSE 0 END AS either,
  CASE WHEN NULL THEN NULL ELSE value END AS nothing,
  NULLIF(value, NULL) AS kept,
  value IN (1, NULL) AS among,
  value BETWEEN NULL AND 3 AS within,
  NULL IS DISTINCT FROM value AS distinct_from
FROM events WHERE NOT (value IS NULL AND NULL);
