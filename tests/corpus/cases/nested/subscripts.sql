-- Subscripts count from one, or from the end when negative, and give NULL where nothing stands.
--: plan yes
--: rows yes
CREATE TABLE nested (
  at TIMESTAMP NOT NULL, id BIGINT NOT NULL, tags TEXT[], numbers BIGINT[], grid BIGINT[][],
  items ARRAY<STRUCT<name TEXT, price DECIMAL(5, 2), at STRUCT<"row" INT, shelf TEXT>>>,
  place STRUCT<city TEXT, geo STRUCT<lat DOUBLE, lon DOUBLE>>, body JSON
) WITH (connector = 'single_file', path = '$inputs/nested.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT id, tags[1] AS one, tags[-1] AS last, tags[0] AS none, tags[9] AS far, numbers[id] AS nth, grid[1][2] AS deep,
  numbers[2:3] AS part, numbers[:2] AS head, numbers[-2:] AS tail, numbers[1:4:2] AS odd
FROM nested;
