-- A part of JSON is not text by itself, and paths are constants.
--: error sql.function_arguments 16:45 = does not take (JSON, TEXT)
--: error sql.function_arguments 17:24 upper does not take (JSON)
--: error sql.function_arguments 18:24 || does not take (JSON, TEXT)
--: error sql.function_arguments 19:24 json_get does not take (BIGINT, TEXT)
--: error sql.function_arguments 20:24 json_get does not take (JSON, TIMESTAMP)
--: error sql.function_arguments 21:24 argument 2 of extract_json must be a constant
--: error sql.function_arguments 22:24 argument 2 of extract_json cannot be 'no path'
--: error sql.function_arguments 23:24 json_contains does not take (JSON)
CREATE TABLE nested (
  at TIMESTAMP NOT NULL, id BIGINT NOT NULL, tags TEXT[], numbers BIGINT[], grid BIGINT[][],
  items ARRAY<STRUCT<name TEXT, price DECIMAL(5, 2), at STRUCT<"row" INT, shelf TEXT>>>,
  place STRUCT<city TEXT, geo STRUCT<lat DOUBLE, lon DOUBLE>>, body JSON
) WITH (connector = 'single_file', path = '$inputs/nested.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out SELECT id FROM nested WHERE body -> 's' = 'x';
INSERT INTO out SELECT upper(body -> 's') AS x FROM nested;
INSERT INTO out SELECT body -> 's' || 'x' AS x FROM nested;
INSERT INTO out SELECT id -> 'a' AS x FROM nested;
INSERT INTO out SELECT body -> at AS x FROM nested;
INSERT INTO out SELECT extract_json(body, tags[1]) AS x FROM nested;
INSERT INTO out SELECT extract_json(body, 'no path') AS x FROM nested;
INSERT INTO out SELECT json_contains(body) AS x FROM nested;
