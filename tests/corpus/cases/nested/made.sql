-- Arrays and structs can be made, and taken apart again.
--: plan yes
--: rows yes
CREATE TABLE nested (
  at TIMESTAMP NOT NULL, id BIGINT NOT NULL, tags TEXT[], numbers BIGINT[], grid BIGINT[][],
  items ARRAY<STRUCT<name TEXT, price DECIMAL(5, 2), at STRUCT<"row" INT, shelf TEXT>>>,
  place STRUCT<city TEXT, geo STRUCT<lat DOUBLE, lon DOUBLE>>, body JSON
) WITH (connector = 'single_file', path = '$inputs/nested.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
CREATE VIEW made AS SELECT id, struct(id AS id, tags[1] AS tag, struct(1, NULL) AS c) AS s, {name: place.city, 'ids': [id, 1, 2.5]} AS t,
  named_struct('a', id, 'b', 'x') AS n, [] AS empty, make_array(place, NULL) AS places FROM nested;
INSERT INTO out SELECT id, s, s.c.c0 AS c0, t, t.ids[3] AS three, n.b, empty, places[1].city AS city FROM made;
