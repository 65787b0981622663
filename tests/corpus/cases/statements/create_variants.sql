-- A script starts empty, so nothing can be replaced, and nothing exists.
--: error sql.unsupported_statement 8:1 CREATE ... OR REPLACE is not supported
--: error sql.unsupported_statement 9:1 CREATE ... IF NOT EXISTS is not supported
--: error sql.unsupported 10:50 a query without FROM has no rows to read
--: error sql.unsupported_statement 11:1 CREATE MATERIALIZED is not supported
--: error sql.unsupported_statement 12:14 x.e is not a name of one part
--: error sql.unsupported 13:24 PARTITIONED BY is not supported
CREATE OR REPLACE VIEW a AS SELECT 1;
CREATE TABLE IF NOT EXISTS b (n INT);
CREATE TABLE c WITH (connector = 'blackhole') AS SELECT 1;
CREATE MATERIALIZED VIEW d AS SELECT 1;
CREATE TABLE x.e (n INT);
CREATE TABLE f (n INT) PARTITIONED BY (n);
