-- The operators of arrays; || also takes single elements.
--: rows yes
CREATE TABLE nested (
  at TIMESTAMP NOT NULL, id BIGINT NOT NULL, tags TEXT[], numbers BIGINT[], grid BIGINT[][],
  items ARRAY<STRUCT<name TEXT, price DECIMAL(5, 2), at STRUCT<"row" INT, shelf TEXT>>>,
  place STRUCT<city TEXT, geo STRUCT<lat DOUBLE, lon DOUBLE>>, body JSON
) WITH (connector = 'single_file', path = '$inputs/nested.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT id, numbers || [9] AS j, numbers || id AS a, id || numbers AS p, tags || 'x' AS t, numbers @> [1] AS has, [1] <@ numbers AS is_in,
  numbers && [2, 8] AS meet, numbers = [7] AS same, numbers < [5] AS less, 'a' || id AS text
FROM nested;
