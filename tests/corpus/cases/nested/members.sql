-- Members of structs are read at any depth, also of elements, and give NULL inside of NULL.
--: rows yes
CREATE TABLE nested (
  at TIMESTAMP NOT NULL, id BIGINT NOT NULL, tags TEXT[], numbers BIGINT[], grid BIGINT[][],
  items ARRAY<STRUCT<name TEXT, price DECIMAL(5, 2), at STRUCT<"row" INT, shelf TEXT>>>,
  place STRUCT<city TEXT, geo STRUCT<lat DOUBLE, lon DOUBLE>>, body JSON
) WITH (connector = 'single_file', path = '$inputs/nested.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT id, place.city, nested.place.geo.lat AS lat, (place).geo.lon AS lon, place['geo']['lat'] AS again,
  items[1].name AS item, items[1].at."row" AS "row", items[2]['at'].shelf AS shelf, place.geo AS geo
FROM nested;
