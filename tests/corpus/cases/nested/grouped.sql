-- Aggregates stand in arrays and structs, and parts of JSON can be grouped by.
--: plan yes
--: rows yes
CREATE TABLE nested (
  at TIMESTAMP NOT NULL, id BIGINT NOT NULL, tags TEXT[], numbers BIGINT[], grid BIGINT[][],
  items ARRAY<STRUCT<name TEXT, price DECIMAL(5, 2), at STRUCT<"row" INT, shelf TEXT>>>,
  place STRUCT<city TEXT, geo STRUCT<lat DOUBLE, lon DOUBLE>>, body JSON
) WITH (connector = 'single_file', path = '$inputs/nested.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT body -> 'n' AS n, {rows: count(*), ids: array_sort(array_agg(id))} AS s, [min(id), max(id)] AS ends, tumble(INTERVAL '1 hour') AS w
FROM nested GROUP BY 1, w;
