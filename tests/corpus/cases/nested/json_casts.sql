-- A cast of a part of JSON gives NULL where the JSON holds something else.
--: rows yes
CREATE TABLE nested (
  at TIMESTAMP NOT NULL, id BIGINT NOT NULL, tags TEXT[], numbers BIGINT[], grid BIGINT[][],
  items ARRAY<STRUCT<name TEXT, price DECIMAL(5, 2), at STRUCT<"row" INT, shelf TEXT>>>,
  place STRUCT<city TEXT, geo STRUCT<lat DOUBLE, lon DOUBLE>>, body JSON
) WITH (connector = 'single_file', path = '$inputs/nested.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT id, (body -> 'n')::BIGINT AS n, (body -> 's')::BIGINT AS no_n, (body -> 'f')::INT AS no_int, (body -> 'f')::DOUBLE AS f,
  (body -> 'n')::DECIMAL(6, 2) AS d, (body -> 's')::TEXT AS s, (body -> 'n')::TEXT AS no_s, (body -> 't')::BOOLEAN AS t,
  (body -> 'a')::JSON AS j, body::TEXT AS whole, (body -> 'a' -> 'b' -> 1)::TEXT AS two, (body -> 'none') IS NULL AS none
FROM nested;
