-- What a connector needs must be given.
--: error option.missing 3:14 option 'path' is required
CREATE TABLE events (key TEXT)
WITH (connector = 'single_file', format = 'json', type = 'source');
SELECT key FROM events;
