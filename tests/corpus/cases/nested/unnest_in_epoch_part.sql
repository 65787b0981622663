-- Above an aggregate of a carried window, arrays are taken apart in the epoch part.
--: plan yes
--: rows yes
CREATE TABLE nested (
  at TIMESTAMP NOT NULL, id BIGINT NOT NULL, tags TEXT[], numbers BIGINT[], grid BIGINT[][],
  items ARRAY<STRUCT<name TEXT, price DECIMAL(5, 2), at STRUCT<"row" INT, shelf TEXT>>>,
  place STRUCT<city TEXT, geo STRUCT<lat DOUBLE, lon DOUBLE>>, body JSON
) WITH (connector = 'single_file', path = '$inputs/nested.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
CREATE VIEW counts AS SELECT id % 2 AS odd, count(*) AS n, tumble(INTERVAL '1 minute') AS w FROM nested GROUP BY odd, w;
CREATE VIEW gathered AS SELECT w, array_agg(n) AS ns FROM counts GROUP BY w;
INSERT INTO out SELECT w.start AS start, unnest(array_sort(ns)) AS n FROM gathered;
