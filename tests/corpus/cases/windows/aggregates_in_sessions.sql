-- Statistics, percentiles and gathered values of sessions.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT session('2 minutes') AS w, median(value) AS middle, stddev(value) AS spread, corr(value, value * 2) AS corr,
  regr_slope(value, value * 2) AS slope, approx_distinct(key) AS keys, approx_median(value) AS about,
  approx_percentile_cont(value, 0.5) AS half, approx_percentile_cont_with_weight(value, 1, 0.5) AS weighed,
  bit_xor(value) AS bits, bool_and(active) AS all_active, array_agg(key ORDER BY at DESC) AS list,
  first_value(key) AS first, last_value(key) AS last
FROM events GROUP BY w;
