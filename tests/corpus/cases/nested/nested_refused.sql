-- What has no elements or members, and what does not fit together.
--: error sql.function_arguments 25:24 a value of type BIGINT has no elements
--: error sql.function_arguments 26:24 a value of type JSON has no elements
--: error sql.function_arguments 27:24 a value of type STRUCT<city TEXT, geo STRUCT<lat DOUBLE, lon DOUBLE>> has no elements
--: error sql.unknown_column 28:24 STRUCT<city TEXT, geo STRUCT<lat DOUBLE, lon DOUBLE>> has no member 'country'
--: error sql.unknown_column 29:24 STRUCT<lat DOUBLE, lon DOUBLE> has no member 'height'
--: error sql.unknown_column 30:24 a value of type BIGINT has no members, and so no 'x'
--: error sql.function_arguments 31:24 make_array does not take (BIGINT, TEXT, BOOLEAN)
--: error sql.function_arguments 32:24 array_append does not take (TEXT[], DOUBLE)
--: error sql.type_mismatch 33:24 'x' is not a BIGINT
--: error sql.duplicate_name 34:24 member 'A' is declared twice
--: error sql.function_arguments 35:24 named_struct does not take (TEXT, BIGINT)
--: error sql.type_mismatch 36:24 a value of type TEXT[] cannot be cast to BIGINT
--: error sql.type_mismatch 37:24 a value of type STRUCT<city TEXT, geo STRUCT<lat DOUBLE, lon DOUBLE>> cannot be cast to STRUCT<a TEXT>
--: error sql.function_arguments 38:24 'up' is not a valid argument of array_sort
--: error sql.unsupported 39:24 an array takes a single subscript
--: error sql.unusable_name 40:24 '${env:HOME}' is not a valid column name
--: error sql.unusable_name 41:24 '${a}' is not a valid column name
CREATE TABLE nested (
  at TIMESTAMP NOT NULL, id BIGINT NOT NULL, tags TEXT[], numbers BIGINT[], grid BIGINT[][],
  items ARRAY<STRUCT<name TEXT, price DECIMAL(5, 2), at STRUCT<"row" INT, shelf TEXT>>>,
  place STRUCT<city TEXT, geo STRUCT<lat DOUBLE, lon DOUBLE>>, body JSON
) WITH (connector = 'single_file', path = '$inputs/nested.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out SELECT id[1] AS x FROM nested;
INSERT INTO out SELECT body['a'] AS x FROM nested;
INSERT INTO out SELECT place[1] AS x FROM nested;
INSERT INTO out SELECT place['country'] AS x FROM nested;
INSERT INTO out SELECT place.geo.height AS x FROM nested;
INSERT INTO out SELECT id.x AS x FROM nested;
INSERT INTO out SELECT [1, 'a', true] AS x FROM nested;
INSERT INTO out SELECT tags || 1.5 AS x FROM nested;
INSERT INTO out SELECT array_append(numbers, 'x') AS x FROM nested;
INSERT INTO out SELECT struct(1 AS a, 2 AS A) AS x FROM nested;
INSERT INTO out SELECT named_struct(tags[1], 2) AS x FROM nested;
INSERT INTO out SELECT tags::BIGINT AS x FROM nested;
INSERT INTO out SELECT place::STRUCT<a TEXT> AS x FROM nested;
INSERT INTO out SELECT array_sort(tags, 'up') AS x FROM nested;
INSERT INTO out SELECT numbers[1, 2] AS x FROM nested;
INSERT INTO out SELECT named_struct('${env:HOME}', 1) AS x FROM nested;
INSERT INTO out SELECT {"${a}": 1} AS x FROM nested;
