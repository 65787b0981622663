-- Where arrays cannot stand in FROM, and what stands there that is none.
--: error sql.unsupported 18:22 unnest needs rows whose arrays it takes apart
--: error sql.join 19:40 the elements of an array are joined with CROSS JOIN, or LEFT JOIN ... ON true
--: error sql.join 20:39 the elements of an array are joined with CROSS JOIN, or LEFT JOIN ... ON true
--: error sql.unsupported 21:40 WITH ORDINALITY is not supported
--: error sql.function_arguments 22:30 argument 'id' of unnest is not an array
--: error sql.unknown_column 23:30 there is no column 'nothing' here
--: error sql.join 24:30 'nested' appears twice in FROM
--: error sql.unsupported 25:30 an element is one column
--: error sql.join 26:42 the elements of an array are joined with CROSS JOIN, or LEFT JOIN ... ON true
--: error sql.unsupported 27:53 a LATERAL query looks at the rows before it in its SELECT list and its WHERE alone
--: error sql.unsupported 28:22 unnest needs rows whose arrays it takes apart
CREATE TABLE nested (
  at TIMESTAMP NOT NULL, id BIGINT NOT NULL, tags TEXT[], numbers BIGINT[], grid BIGINT[][],
  items ARRAY<STRUCT<name TEXT, price DECIMAL(5, 2), at STRUCT<"row" INT, shelf TEXT>>>,
  place STRUCT<city TEXT, geo STRUCT<lat DOUBLE, lon DOUBLE>>, body JSON
) WITH (connector = 'single_file', path = '$inputs/nested.jsonl', format = 'json', type = 'source', event_time_field = 'at');
SELECT n FROM unnest([1, 2]) AS n;
SELECT n FROM nested RIGHT JOIN unnest(numbers) AS n ON true;
SELECT n FROM nested LEFT JOIN unnest(numbers) AS n ON n > 1;
SELECT n FROM nested CROSS JOIN unnest(numbers) WITH ORDINALITY AS x(n, place);
SELECT n FROM nested, unnest(id) AS n;
SELECT n FROM nested, unnest(nothing) AS n;
SELECT n FROM nested, unnest(numbers) AS nested;
SELECT n FROM nested, unnest(items) AS x(n, price);
SELECT n FROM nested NATURAL JOIN unnest(numbers) AS n;
SELECT n FROM nested, LATERAL (SELECT n FROM unnest(nested.numbers)) AS n;
SELECT n FROM unnest(nested.numbers) AS n, nested;
