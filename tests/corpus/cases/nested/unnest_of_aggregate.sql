-- What is gathered in a window can be taken apart in the same SELECT, and beside its keys.
--: plan yes
--: rows yes
CREATE TABLE nested (
  at TIMESTAMP NOT NULL, id BIGINT NOT NULL, tags TEXT[], numbers BIGINT[], grid BIGINT[][],
  items ARRAY<STRUCT<name TEXT, price DECIMAL(5, 2), at STRUCT<"row" INT, shelf TEXT>>>,
  place STRUCT<city TEXT, geo STRUCT<lat DOUBLE, lon DOUBLE>>, body JSON
) WITH (connector = 'single_file', path = '$inputs/nested.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT count(*) AS n, unnest(array_agg(id)) + 0 AS id, tumble(INTERVAL '1 minute') AS w FROM nested GROUP BY w HAVING count(*) > 1;
