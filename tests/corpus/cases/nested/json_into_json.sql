-- Into a column of type JSON a part goes as it is, and into others cast.
--: rows yes
CREATE TABLE nested (
  at TIMESTAMP NOT NULL, id BIGINT NOT NULL, tags TEXT[], numbers BIGINT[], grid BIGINT[][],
  items ARRAY<STRUCT<name TEXT, price DECIMAL(5, 2), at STRUCT<"row" INT, shelf TEXT>>>,
  place STRUCT<city TEXT, geo STRUCT<lat DOUBLE, lon DOUBLE>>, body JSON
) WITH (connector = 'single_file', path = '$inputs/nested.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
CREATE TABLE typed (id BIGINT, part JSON, whole JSON, number BIGINT, text TEXT)
WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO typed SELECT id, body -> 'a', body, body -> 'n', body -> 's' FROM nested;
