-- A window that the SELECT list does not name is called window.
--: plan yes
CREATE TABLE clicks (seen TIMESTAMP NOT NULL, who TEXT, WATERMARK FOR seen) WITH (
  connector = 'single_file', path = '$inputs/clicks.json', format = 'json', type = 'source'
);
SELECT per_hour.window.start, n FROM (SELECT tumble(INTERVAL '1 hour'), count(*) AS n FROM clicks GROUP BY 1) AS per_hour;
