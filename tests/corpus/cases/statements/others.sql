-- What a pipeline cannot hold.
--: error sql.unsupported_statement 21:1 EXPLAIN is not supported
--: error sql.unsupported_statement 22:1 ANALYZE is not supported
--: error sql.unsupported_statement 23:1 COPY is not supported
--: error sql.unsupported_statement 24:1 DESCRIBE is not supported
--: error sql.unsupported_statement 25:1 Unsupported statement: SHOW TABLES
--: error sql.unsupported_statement 26:1 Unsupported statement: DROP TABLE
--: error sql.unsupported_statement 27:1 Unsupported statement: ALTER TABLE
--: error sql.unsupported_statement 28:1 Unsupported statement: DELETE FROM
--: error sql.unsupported_statement 29:1 Unsupported statement: UPDATE events
--: error sql.unsupported_statement 30:1 Unsupported statement: MERGE INTO
--: error sql.unsupported_statement 31:1 Unsupported statement: TRUNCATE TABLE
--: error sql.unsupported_statement 32:1 Unsupported statement: BEGIN
--: error sql.unsupported_statement 33:1 Unsupported statement: COMMIT
--: error sql.unsupported_statement 34:1 Unsupported statement: CREATE INDEX
--: error sql.unsupported_statement 35:1 Unsupported statement: CREATE SCHEMA
--: error sql.unsupported_statement 36:1 Unsupported statement: VALUES (
--: error sql.unsupported_statement 37:1 Unsupported statement: FROM events
--: error sql.unsupported_statement 38:1 Unsupported statement: SELCT key
--: error sql.unsupported_statement 39:1 Unsupported statement: text
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
