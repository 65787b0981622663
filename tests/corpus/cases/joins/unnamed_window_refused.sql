-- Of two windows without an alias none gives way, nor of two that have one, nor does a column that brought its name.
--: error sql.ambiguous_column 14:8 column 'window' is in more than one of the tables: c, e
--: error sql.ambiguous_column 15:8 column 'window' is in more than one of the tables: d, f
--: error sql.ambiguous_column 16:8 column 'window' is in more than one of the tables: d, f
--: error sql.ambiguous_column 17:8 column 'window' is in more than one of the tables: d, e
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '$inputs/clicks.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE VIEW e AS SELECT tumble(INTERVAL '1 minute'), key FROM events GROUP BY 1, 2;
CREATE VIEW f AS SELECT window, key FROM e;
CREATE VIEW c AS SELECT tumble(INTERVAL '1 minute'), key FROM clicks GROUP BY 1, 2;
CREATE VIEW d AS SELECT tumble(INTERVAL '1 minute') AS window, key FROM clicks GROUP BY 1, 2;
SELECT window.start FROM e JOIN c ON e.key = c.key;
SELECT window.start FROM f JOIN d ON f.key = d.key;
SELECT window.start FROM e JOIN d ON e.key = d.key JOIN f ON e.key = f.key;
SELECT window.start FROM e JOIN (SELECT * FROM c) AS d ON e.key = d.key;
