-- UNNEST is for the SELECT list, once, and of an array.
--: error sql.unsupported 16:45 unnest is not supported here
--: error sql.unsupported 17:38 a SELECT list can take apart one array only
--: error sql.unsupported 18:24 a SELECT list can take apart one array only
--: error sql.function_arguments 19:24 argument 'id' of unnest is not an array
--: error sql.function_arguments 20:24 unnest takes one array, not 2 arguments
--: error sql.unsupported 21:28 unnest is not supported here
--: error sql.unsupported 22:88 unnest is not supported here
--: error sql.unsupported 23:94 unnest is not supported here
CREATE TABLE nested (
  at TIMESTAMP NOT NULL, id BIGINT NOT NULL, tags TEXT[], numbers BIGINT[], grid BIGINT[][],
  items ARRAY<STRUCT<name TEXT, price DECIMAL(5, 2), at STRUCT<"row" INT, shelf TEXT>>>,
  place STRUCT<city TEXT, geo STRUCT<lat DOUBLE, lon DOUBLE>>, body JSON
) WITH (connector = 'single_file', path = '$inputs/nested.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out SELECT id FROM nested WHERE unnest(numbers) > 1;
INSERT INTO out SELECT unnest(tags), unnest(numbers) FROM nested;
INSERT INTO out SELECT unnest(unnest(grid)) AS x FROM nested;
INSERT INTO out SELECT unnest(id) AS x FROM nested;
INSERT INTO out SELECT unnest(tags, numbers) AS x FROM nested;
INSERT INTO out SELECT sum(unnest(numbers)) AS x FROM nested GROUP BY tumble(INTERVAL '1 minute');
INSERT INTO out SELECT count(*) AS n FROM nested GROUP BY tumble(INTERVAL '1 minute'), unnest(numbers);
INSERT INTO out SELECT count(*) AS n FROM nested GROUP BY tumble(INTERVAL '1 minute') HAVING unnest(numbers) > 1;
INSERT INTO out SELECT x FROM nested CROSS JOIN unnest(tags) AS t(x);
