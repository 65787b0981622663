-- What is no hint, and where one names nothing.
--: error sql.hint 19:8 id(plain) names no operator: its SELECT keeps no state
--: error sql.hint 20:8 there is no hint /*+ broadcast(events) */
--: error sql.hint 21:8 there is no hint /*+ */
--: error sql.hint 22:8 /*+ id(a), id(b) */ is more than one hint
--: error sql.hint 23:8 '' cannot be the name of an operator
--: error sql.hint 24:8 '1a' cannot be the name of an operator
--: error sql.hint 25:8 'per-minute' cannot be the name of an operator
--: error sql.hint 28:8 id(Twice) is given twice
--: error sql.hint 29:1 a hint cannot stand here
--: error sql.hint 30:28 a hint cannot stand here
--: error sql.hint 31:8 a hint cannot stand here
--: error sql.hint 32:8 id(carried) names no operator: its SELECT keeps no state
--: error sql.hint 34:8 id(above) names no operator: its SELECT keeps no state
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE changes (key TEXT, n BIGINT)
WITH (connector = 'single_file', path = '/changes', format = 'debezium_json', type = 'sink');
SELECT /*+ id(plain) */ key FROM events;
SELECT /*+ broadcast(events) */ tumble('1 minute'), count(*) FROM events GROUP BY 1;
SELECT /*+ */ tumble('1 minute'), count(*) FROM events GROUP BY 1;
SELECT /*+ id(a), id(b) */ tumble('1 minute'), count(*) FROM events GROUP BY 1;
SELECT /*+ id() */ tumble('1 minute'), count(*) FROM events GROUP BY 1;
SELECT /*+ id(1a) */ tumble('1 minute'), count(*) FROM events GROUP BY 1;
SELECT /*+ id(per-minute) */ tumble('1 minute'), count(*) FROM events GROUP BY 1;
SELECT
  /*+ id(twice) */ tumble('1 minute'), count(*) FROM events GROUP BY 1;
SELECT /*+ id(Twice) */ tumble('2 minutes'), count(*) FROM events GROUP BY 1;
/*+ id(before) */ SELECT tumble('1 minute'), count(*) FROM events GROUP BY 1;
SELECT tumble('1 minute'), /*+ id(between) */ count(*) FROM events GROUP BY 1;
INSERT /*+ id(insert) */ INTO changes SELECT key, count(*) FROM events GROUP BY key;
SELECT /*+ id(carried) */ w, count(*) FROM (SELECT tumble('1 minute') AS w, key FROM events GROUP BY 1, 2) GROUP BY w;
WITH counts AS (SELECT tumble('1 minute') AS w, key, count(*) AS n FROM events GROUP BY 1, 2)
SELECT /*+ id(above) */ key, n + 1 FROM counts;
