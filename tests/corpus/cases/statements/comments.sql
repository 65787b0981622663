-- Comments stand anywhere.
--: plan yes
-- one line
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
/* several
   lines; SELECT reflect('a') */
SELECT key /* here */ FROM events -- there; SELECT nothing
;
-- at the end
