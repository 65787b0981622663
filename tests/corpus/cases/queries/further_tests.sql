-- What else a value can be asked: patterns with their own escapes, several values at once, elements of arrays.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out SELECT key, value, key LIKE 'ü''"\\%' ESCAPE '' AS a,
  key LIKE '!%%' ESCAPE '!' AS b,
  '50%_\' LIKE '50!%!__' ESCAPE '!' AS c,
  key NOT ILIKE '#A' ESCAPE '#' AS d,
  key SIMILAR TO '(a|b)' AS e,
  key SIMILAR TO '_[^b]%' AS f,
  'a.b' SIMILAR TO 'a.b' AND 'axb' NOT SIMILAR TO 'a.b' AS g,
  'a%' SIMILAR TO '[a-c]!%' ESCAPE '!' AS h,
  value BETWEEN SYMMETRIC 3 AND -9 AS i,
  value NOT BETWEEN SYMMETRIC 1 AND NULL AS j,
  (key, value) = ('a', 1) AS k,
  (key, value) <> ('a', 1) AS l,
  (key, value) < ('b', 2) AS m,
  (key, value, active) >= ('a', 3, NULL) AS n,
  (key, value) IN (('a', 3), ('b', 2)) AS o,
  ROW(key, 1) NOT IN (('a', 1)) AS p,
  value = ANY([1, 2]) AS q,
  value <> ALL(ARRAY[1, NULL]) AS r,
  key = ANY(make_array('a', key)) AS s,
  (at + INTERVAL '1.2345 seconds')::TIMESTAMP(0) AS t,
  (at + INTERVAL '1.2345 seconds')::TIMESTAMP(3) AS u,
  CAST('2024-01-01T00:00:00.123456' AS TIMESTAMP(3)) AS v,
  E'x\ty' AS w
FROM events;
