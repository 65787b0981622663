-- Expressions over keys, aggregates and the window.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT sum(value) / count(*) AS mean, upper(key) || 'x' AS k, date_trunc('hour', tumble('1 minute').start) AS h, 1 AS one,
  CASE WHEN count(*) > 1 THEN max(at) END AS last
FROM events GROUP BY tumble('1 minute'), upper(key);
