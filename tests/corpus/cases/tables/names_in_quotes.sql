-- Names in quotes may hold anything: capitals, dots, quotes, backticks, keywords, other alphabets.
--: plan yes
--: rows yes
CREATE TABLE "Ta.ble" ("a.b" BIGINT, "Se""lect" BIGINT, "from" BIGINT, "ключ" TEXT, "back`tick" BIGINT, "1 x" STRUCT<"y.z" INT>)
WITH (connector = 'single_file', path = '$inputs/odd_names.jsonl', format = 'json', type = 'source');
CREATE TABLE out (a BIGINT, "b.c" BIGINT, "D" BIGINT, "д" TEXT, "e`f" BIGINT, g INT) WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT "a.b", "Se""lect" AS "x.y", "ta.BLE"."from", "ключ", "back`tick", "1 x"."y.z" FROM "ta.ble" WHERE "a.b" > 0;
