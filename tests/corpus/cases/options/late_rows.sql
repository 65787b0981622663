-- Late rows go into a sink of the same script, with columns of the table, their event time and the watermark that they missed.
--: plan yes
CREATE TABLE s (at TIMESTAMP NOT NULL, key TEXT, n BIGINT, half BIGINT GENERATED ALWAYS AS (n / 2) STORED, WATERMARK FOR at)
WITH (connector = 'single_file', path = '/s', type = 'source', format = 'json', late_rows = 'too_late');
CREATE TABLE too_late (N BIGINT, half BIGINT, event_time TIMESTAMP, watermark TIMESTAMP) WITH (connector = 'single_file', path = '/late', type = 'sink', format = 'json');
CREATE TABLE counts WITH (connector = 'blackhole');
CREATE VIEW wanted AS SELECT upper(key) AS k FROM s WHERE n > 0;
CREATE VIEW per_hour AS SELECT k, tumble(INTERVAL '1 hour') AS window, count(*) AS n FROM wanted GROUP BY k, window;
INSERT INTO counts SELECT k, n FROM per_hour;
INSERT INTO counts SELECT k, n + 1 FROM per_hour;
