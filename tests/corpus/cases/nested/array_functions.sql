-- Functions of arrays over columns, with NULL in all places.
--: rows yes
CREATE TABLE nested (
  at TIMESTAMP NOT NULL, id BIGINT NOT NULL, tags TEXT[], numbers BIGINT[], grid BIGINT[][],
  items ARRAY<STRUCT<name TEXT, price DECIMAL(5, 2), at STRUCT<"row" INT, shelf TEXT>>>,
  place STRUCT<city TEXT, geo STRUCT<lat DOUBLE, lon DOUBLE>>, body JSON
) WITH (connector = 'single_file', path = '$inputs/nested.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT id, array_append(tags, NULL) AS app, array_sort(numbers) AS s, array_distinct(tags) AS d, array_to_string(grid, '-') AS g,
  flatten(grid) AS f, array_length(grid, 2) AS l, array_dims(grid) AS dims, array_remove_all(tags, 'a') AS r,
  array_position(tags, 'b') AS b, array_concat(numbers, [0]) AS c, unnest(generate_series(1, id)) AS n
FROM nested WHERE id < 4;
