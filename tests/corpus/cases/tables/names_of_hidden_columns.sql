-- Where rows are only added, columns may be called like those that changes carry.
--: rows yes
CREATE TABLE hidden_names (_id BIGINT, _retract TEXT, list BIGINT[])
WITH (connector = 'single_file', path = '$inputs/hidden_names.jsonl', format = 'json', type = 'source');
CREATE TABLE out (_id BIGINT, _retract TEXT, element BIGINT) WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT _id, _retract, element FROM (SELECT _id + 1 AS _id, _retract, unnest(list) AS element FROM hidden_names)
UNION ALL SELECT _id, _retract, _id FROM hidden_names WHERE _id > 1;
