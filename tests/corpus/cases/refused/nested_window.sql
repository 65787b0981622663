-- The result of a window is not cut into windows again.
--: error sql.window_mismatch 5:8 tumble(90 seconds) is not the window that the input has: tumble(1 minute)
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT tumble(INTERVAL '90 seconds') AS v, count(*) AS m FROM (
  SELECT tumble(INTERVAL '1 minute') AS w, count(*) AS n FROM events GROUP BY w
) AS t GROUP BY v;
