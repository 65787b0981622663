-- What a pipeline cannot hold.
--: error sql.unsupported_statement 21:1 EXPLAIN is not supported
--: error sql.unsupported_statement 22:1 ANALYZE is not supported
--: error sql.unsupported_statement 23:1 COPY is not supported
--: error sql.unsupported_statement 24:1 DESCRIBE is not supported
--: error sql.unsupported_statement 25:1 SHOW TABLES is not supported
--: error sql.unsupported_statement 26:1 DROP TABLE is not supported
--: error sql.unsupported_statement 27:1 ALTER TABLE is not supported
--: error sql.unsupported_statement 28:1 DELETE FROM is not supported
--: error sql.unsupported_statement 29:1 UPDATE events is not supported
--: error sql.unsupported_statement 30:1 MERGE INTO is not supported
--: error sql.unsupported_statement 31:1 TRUNCATE TABLE is not supported
--: error sql.unsupported_statement 32:1 BEGIN is not supported
--: error sql.unsupported_statement 33:1 COMMIT is not supported
--: error sql.unsupported_statement 34:1 CREATE INDEX is not supported
--: error sql.unsupported_statement 35:1 CREATE SCHEMA is not supported
--: error sql.unsupported_statement 36:1 VALUES ( is not supported
--: error sql.unsupported_statement 37:1 FROM events is not supported
--: error sql.unsupported_statement 38:1 SELCT key is not supported
--: error sql.unsupported_statement 39:1 text is not supported
EXPLAIN SELECT 1;
ANALYZE TABLE events;
COPY events FROM '/etc/passwd';
DESCRIBE events;
SHOW TABLES;
DROP TABLE events;
ALTER TABLE events ADD COLUMN x INT;
DELETE FROM events;
UPDATE events SET key = 1;
MERGE INTO events USING events ON true WHEN MATCHED THEN DELETE;
TRUNCATE TABLE events;
BEGIN;
COMMIT;
CREATE INDEX i ON events (key);
CREATE SCHEMA s;
VALUES (1);
FROM events SELECT key;
SELCT key FROM events;
'text';
