-- What was taken apart can be grouped in windows, whose event time is that of the row.
--: plan yes
--: rows yes
CREATE TABLE nested (
  at TIMESTAMP NOT NULL, id BIGINT NOT NULL, tags TEXT[], numbers BIGINT[], grid BIGINT[][],
  items ARRAY<STRUCT<name TEXT, price DECIMAL(5, 2), at STRUCT<"row" INT, shelf TEXT>>>,
  place STRUCT<city TEXT, geo STRUCT<lat DOUBLE, lon DOUBLE>>, body JSON
) WITH (connector = 'single_file', path = '$inputs/nested.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
CREATE VIEW tags AS SELECT unnest(tags) AS tag FROM nested;
INSERT INTO out SELECT tag, count(*) AS n, tumble(INTERVAL '1 minute') AS w FROM tags GROUP BY tag, w;
