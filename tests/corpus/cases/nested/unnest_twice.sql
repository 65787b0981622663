-- Arrays in arrays are taken apart one after the other, in queries around each other.
--: rows yes
CREATE TABLE nested (
  at TIMESTAMP NOT NULL, id BIGINT NOT NULL, tags TEXT[], numbers BIGINT[], grid BIGINT[][],
  items ARRAY<STRUCT<name TEXT, price DECIMAL(5, 2), at STRUCT<"row" INT, shelf TEXT>>>,
  place STRUCT<city TEXT, geo STRUCT<lat DOUBLE, lon DOUBLE>>, body JSON
) WITH (connector = 'single_file', path = '$inputs/nested.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT id, unnest(line) AS number FROM (SELECT id, unnest(grid) AS line FROM nested) AS lines;
