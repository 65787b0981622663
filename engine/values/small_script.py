"""A small script that is compiled once, so that what is loaded for that is there when somebody waits for it."""

SMALL_SCRIPT = """
CREATE TABLE ticks WITH (connector = 'impulse', event_rate = '1');
CREATE TABLE out WITH (connector = 'single_file', path = '/nowhere', format = 'json', type = 'sink');
INSERT INTO out SELECT counter % 8 AS k, tumble(INTERVAL '1 second') AS w, count(*) AS n FROM ticks GROUP BY k, w;
"""
