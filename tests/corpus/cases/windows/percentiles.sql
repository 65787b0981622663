-- Exact percentiles and modes, in windows that close in different epochs.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT tumble('1 minute') AS w, percentile_cont(0.3) WITHIN GROUP (ORDER BY value) AS a, percentile_cont(value, 0.9) AS b,
  percentile_disc(0.3) WITHIN GROUP (ORDER BY value) AS c, percentile_disc(key, 0.7) AS d,
  mode() WITHIN GROUP (ORDER BY value) AS e, mode(key) AS f
FROM events GROUP BY w;
