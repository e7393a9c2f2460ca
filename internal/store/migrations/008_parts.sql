-- Of a request in mode pipeline: raw material to inputs, the model, its outputs
-- to an answer.
ALTER TABLE results ADD COLUMN preprocess_ms DOUBLE;
ALTER TABLE results ADD COLUMN model_ms DOUBLE;
ALTER TABLE results ADD COLUMN postprocess_ms DOUBLE;
