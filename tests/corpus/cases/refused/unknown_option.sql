-- An option must be known.
--: error option.unknown 4:34 there is no option 'pat'
CREATE TABLE events (key TEXT)
WITH (connector = 'single_file', pat = '/e', path = '/e', format = 'json', type = 'source');
SELECT key FROM events;
