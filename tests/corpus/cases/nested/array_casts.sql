-- Arrays and structs are cast part by part.
--: rows yes
CREATE TABLE nested (
  at TIMESTAMP NOT NULL, id BIGINT NOT NULL, tags TEXT[], numbers BIGINT[], grid BIGINT[][],
  items ARRAY<STRUCT<name TEXT, price DECIMAL(5, 2), at STRUCT<"row" INT, shelf TEXT>>>,
  place STRUCT<city TEXT, geo STRUCT<lat DOUBLE, lon DOUBLE>>, body JSON
) WITH (connector = 'single_file', path = '$inputs/nested.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT id, numbers::TEXT[] AS t, numbers::DOUBLE[] AS d, grid::TEXT[][] AS g, ['1', ' 2']::INT[] AS i,
  place::STRUCT<name TEXT, at STRUCT<x TEXT, y INT>> AS p, TRY_CAST(tags AS BIGINT[]) AS n
FROM nested;
