-- A connector with columns of its own needs none declared.
--: plan yes
CREATE TABLE t WITH (connector = 'impulse', event_rate = 10, message_count = 100);
SELECT counter, subtask_index FROM t;
