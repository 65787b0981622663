-- A file of functions that says too little is refused as a whole.
--: error udf.signature - not_annotated.py:5: half: the result has no type hint
--: error udf.name - not_annotated.py:10: SQL already has a function 'sqrt'
--: error udf.signature - not_annotated.py:15: later: dict has no type in SQL
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT half(value) FROM events;
