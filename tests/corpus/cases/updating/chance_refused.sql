-- What gives another value each time cannot take back the row it had added.
--: error sql.updating 12:13 random() gives another value each time, so a row that is taken back could not be found again
--: error sql.updating 13:13 now() gives another value each time, so a row that is taken back could not be found again
--: error sql.updating 14:13 uuid() gives another value each time, so a row that is taken back could not be found again
--: error sql.updating 15:1 random() gives another value each time, so a row that is taken back could not be found again
--: error sql.updating 16:1 row_time() gives another value each time, so a row that is taken back could not be found again
--: error sql.updating 17:1 uuid() gives another value each time, so a row that is taken back could not be found again
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE changes WITH (connector = 'single_file', path = '/changes.json', format = 'debezium_json', type = 'sink');
CREATE VIEW counts AS SELECT key, count(*) AS n FROM events GROUP BY key;
INSERT INTO changes SELECT key, random() AS luck FROM counts;
INSERT INTO changes SELECT key, CAST(n AS DOUBLE) FROM counts WHERE now() > '2020-01-01';
INSERT INTO changes SELECT uuid(), CAST(count(*) AS DOUBLE) FROM counts GROUP BY 1;
SELECT key, max(random()) FROM counts GROUP BY key;
SELECT key, row_time() FROM counts;
SELECT key FROM events UNION SELECT uuid() FROM counts;
