-- Adapters of training, how processes share the work, and the models beside
-- which one ran; null is none.
ALTER TABLE results ADD COLUMN adapters VARCHAR;
ALTER TABLE results ADD COLUMN parallel VARCHAR;
ALTER TABLE results ADD COLUMN procs INTEGER;
ALTER TABLE results ADD COLUMN company VARCHAR;

-- Times beside others over times alone; the speed of several processes over
-- that of as many alone.
ALTER TABLE results ADD COLUMN interference DOUBLE;
ALTER TABLE results ADD COLUMN efficiency DOUBLE;
