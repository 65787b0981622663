-- No statement of Spark's reaches it.
--: error sql.unsupported_statement 34:1 a statement cannot begin with ADD
--: error sql.unsupported_statement 35:1 a statement cannot begin with ADD
--: error sql.unsupported_statement 36:1 a statement cannot begin with LIST
--: error sql.unsupported_statement 37:1 CREATE FUNCTION is not supported
--: error sql.unsupported_statement 38:1 CREATE FUNCTION is not supported
--: error sql.unsupported_statement 39:1 this CREATE has a part that is not supported
--: error sql.unsupported_statement 40:1 this CREATE has a part that is not supported
--: error sql.unsupported_statement 41:1 CREATE EXTERNAL is not supported
--: error sql.unsupported_statement 42:1 this CREATE has a part that is not supported
--: error sql.unsupported_statement 43:1 this CREATE has a part that is not supported
--: error sql.unsupported_statement 44:1 this CREATE has a part that is not supported
--: error sql.unsupported_statement 45:1 CREATE ... CLONE is not supported
--: error sql.syntax 46:37 unexpected 'USING'
--: error sql.unsupported_statement 47:1 INSERT must be INTO a declared table
--: error sql.unsupported_statement 48:1 a statement cannot begin with LOAD
--: error sql.unsupported_statement 49:1 a statement cannot begin with CACHE
--: error sql.unsupported_statement 50:1 a statement cannot begin with UNCACHE
--: error sql.unsupported_statement 51:1 a statement cannot begin with REFRESH
--: error sql.unknown_setting 52:5 there is no setting 'spark.sql.extensions'; a script can set 'updating_ttl', 'sink_prefix' and 'sinks'
--: error sql.unsupported_statement 53:1 SET takes one name and one value
--: error sql.unsupported_statement 54:1 a statement cannot begin with RESET
--: error sql.unsupported_statement 55:1 a statement cannot begin with EXPLAIN
--: error sql.unsupported_statement 56:1 a statement cannot begin with DESCRIBE
--: error sql.unsupported_statement 57:1 a statement cannot begin with ANALYZE
--: error sql.unsupported_statement 58:1 a statement cannot begin with COPY
--: error sql.unsupported_statement 59:1 a statement cannot begin with USE
--: error sql.unsupported_statement 60:1 a statement cannot begin with EXECUTE
--: error sql.unsupported_statement 61:1 a statement cannot begin with DECLARE
--: error sql.unsupported_statement 62:1 a statement cannot begin with BEGIN
--: error sql.unsupported_statement 62:17 a statement cannot begin with END
--: error sql.unsupported_statement 63:1 a statement cannot begin with GRANT
--: error sql.unsupported_statement 64:1 a statement cannot begin with CALL
ADD JAR '/tmp/x.jar';
ADD FILE '/etc/passwd';
LIST JARS;
CREATE FUNCTION f AS 'x';
CREATE TEMPORARY FUNCTION f AS 'x' USING JAR '/tmp/x.jar';
CREATE TABLE t USING csv OPTIONS (path '/etc/passwd');
CREATE TABLE t (a TEXT) USING jdbc;
CREATE EXTERNAL TABLE t (a TEXT) LOCATION '/etc';
CREATE VIEW v USING text OPTIONS (path '/etc/passwd');
CREATE TEMPORARY VIEW v USING org.apache.spark.sql.jdbc OPTIONS (url 'jdbc:h2:mem:x');
CREATE TABLE t LIKE events;
CREATE TABLE t CLONE events;
INSERT OVERWRITE DIRECTORY '/tmp/x' USING parquet SELECT 1;
INSERT OVERWRITE LOCAL DIRECTORY '/tmp/x' SELECT 1;
LOAD DATA INPATH '/etc/passwd' INTO TABLE events;
CACHE TABLE events;
UNCACHE TABLE events;
REFRESH '/etc';
SET spark.sql.extensions = 'com.example.Evil';
SET -v;
RESET;
EXPLAIN EXTENDED SELECT 1;
DESCRIBE EXTENDED events;
ANALYZE TABLE events COMPUTE STATISTICS;
COPY events TO '/tmp/x';
USE CATALOG x;
EXECUTE IMMEDIATE 'SELECT 1';
DECLARE VARIABLE x INT;
BEGIN SELECT 1; END;
GRANT ALL ON events TO x;
CALL system.x();
