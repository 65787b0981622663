-- What a pipeline cannot hold.
--: error sql.unsupported_statement 21:1 a statement cannot begin with EXPLAIN
--: error sql.unsupported_statement 22:1 a statement cannot begin with ANALYZE
--: error sql.unsupported_statement 23:1 a statement cannot begin with COPY
--: error sql.unsupported_statement 24:1 a statement cannot begin with DESCRIBE
--: error sql.unsupported_statement 25:1 a statement cannot begin with SHOW
--: error sql.unsupported_statement 26:1 a statement cannot begin with DROP
--: error sql.unsupported_statement 27:1 a statement cannot begin with ALTER
--: error sql.unsupported_statement 28:1 a statement cannot begin with DELETE
--: error sql.unsupported_statement 29:1 a statement cannot begin with UPDATE
--: error sql.unsupported_statement 30:1 a statement cannot begin with MERGE
--: error sql.unsupported_statement 31:1 a statement cannot begin with TRUNCATE
--: error sql.unsupported_statement 32:1 a statement cannot begin with BEGIN
--: error sql.unsupported_statement 33:1 a statement cannot begin with COMMIT
--: error sql.unsupported_statement 34:1 CREATE INDEX is not supported
--: error sql.unsupported_statement 35:1 CREATE SCHEMA is not supported
--: error sql.unsupported_statement 36:1 a statement cannot begin with VALUES
--: error sql.unsupported_statement 37:1 a statement cannot begin with FROM
--: error sql.unsupported_statement 38:1 a statement cannot begin with SELCT
--: error sql.unsupported_statement 39:1 a statement cannot begin with 'text'
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
