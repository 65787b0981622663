-- A part of JSON reaches a sink as text: a string keeps its quotes, and what is not there is null.
--: plan yes
--: rows yes
CREATE TABLE nested (
  at TIMESTAMP NOT NULL, id BIGINT NOT NULL, tags TEXT[], numbers BIGINT[], grid BIGINT[][],
  items ARRAY<STRUCT<name TEXT, price DECIMAL(5, 2), at STRUCT<"row" INT, shelf TEXT>>>,
  place STRUCT<city TEXT, geo STRUCT<lat DOUBLE, lon DOUBLE>>, body JSON
) WITH (connector = 'single_file', path = '$inputs/nested.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT id, body -> 'n' AS n, body -> 'f' AS f, body -> 's' AS s, body -> 'z' AS z, body -> 'none' AS none,
  body -> 'a' -> 'b' AS b, body -> 'a' -> 'b' -> 3 AS last, body -> 1 -> 'k' AS k, body ->> 's' AS text, body ->> 'z' AS zt,
  body ->> 'a' AS at, body -> 'a' ->> 'b' AS bt, body ? 'z' AS has, body ? 0 AS first
FROM nested;
