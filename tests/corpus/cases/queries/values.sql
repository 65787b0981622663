-- Literals, casts and the operators of Postgres.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT
  1 AS a, 1.5 AS b, -2 AS c, 'it''s' AS d, TRUE AS e, NULL AS f, INTERVAL '90 minutes' + at AS g, value::TEXT AS h,
  CAST(key AS BIGINT) AS i, TRY_CAST(key AS DOUBLE) AS j, value BETWEEN 1 AND 2 AS k, key LIKE 'a%' AS l,
  key NOT LIKE 'a' AS m, key || 'x' AS n, value IS DISTINCT FROM 1 AS o, active IS NOT TRUE AS p,
  extract(hour FROM at) AS q, key ~ 'a+' AS r, .5 AS s, 1e3 AS t
FROM events;
