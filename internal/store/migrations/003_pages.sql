-- Settings of cells that run in a page of a browser; null is the default: a cold
-- start, and inputs as the model takes them.
ALTER TABLE results ADD COLUMN start VARCHAR;
ALTER TABLE results ADD COLUMN front_end VARCHAR;
