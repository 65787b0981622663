-- The functions behind the operators, with longer ways to a value.
--: rows yes
CREATE TABLE nested (
  at TIMESTAMP NOT NULL, id BIGINT NOT NULL, tags TEXT[], numbers BIGINT[], grid BIGINT[][],
  items ARRAY<STRUCT<name TEXT, price DECIMAL(5, 2), at STRUCT<"row" INT, shelf TEXT>>>,
  place STRUCT<city TEXT, geo STRUCT<lat DOUBLE, lon DOUBLE>>, body JSON
) WITH (connector = 'single_file', path = '$inputs/nested.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT id, json_get(body, 'a', 'b', 1) AS g, json_get_str(body, 'a', 'b', 1) AS s, json_get_int(body, 'n') AS i,
  json_get_float(body, 'n') AS f, json_get_bool(body, 't') AS t, json_get_json(body, 'a') AS j, json_as_text(body, 1, 'k') AS k,
  json_length(body) AS size, json_length(body, 'l') AS empty, json_length(body, 'n') AS none, json_contains(body, 'a', 'b', 9) AS c,
  extract_json(body, '$..b[?@ == 1 || @ == "two"]') AS found, extract_json_string(body, '$.s') AS es,
  extract_json_string(body, '$.n') AS no_string, get_first_json_object(body, '$.*') AS first
FROM nested;
