-- Arrays in FROM have a row for every element; with a left join rows without elements stay.
--: plan yes
--: rows yes
CREATE TABLE nested (
  at TIMESTAMP NOT NULL, id BIGINT NOT NULL, tags TEXT[], numbers BIGINT[], grid BIGINT[][],
  items ARRAY<STRUCT<name TEXT, price DECIMAL(5, 2), at STRUCT<"row" INT, shelf TEXT>>>,
  place STRUCT<city TEXT, geo STRUCT<lat DOUBLE, lon DOUBLE>>, body JSON
) WITH (connector = 'single_file', path = '$inputs/nested.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out SELECT id, tag, CAST(NULL AS TEXT) AS more FROM nested, unnest(tags) AS tag WHERE tag <> 'b' OR id > 1;
INSERT INTO out SELECT id + 100, n.n::TEXT, 'left' FROM nested LEFT JOIN LATERAL unnest(nested.numbers) AS n ON true;
INSERT INTO out SELECT id + 200, x::TEXT, item.name FROM nested CROSS JOIN unnest(grid) AS r(line) CROSS JOIN unnest(line) AS x
JOIN unnest(items) AS item ON (item).price > x;
INSERT INTO out SELECT count(*), tag, 'grouped' FROM nested, unnest(tags) AS tag GROUP BY tumble(INTERVAL '1 hour'), tag;
