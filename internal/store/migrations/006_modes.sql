-- Settings of generation and training; null is the default: sixteen tokens, a
-- cache that grows, adamw, activations kept, no mixed precision.
ALTER TABLE results ADD COLUMN tokens INTEGER;
ALTER TABLE results ADD COLUMN cache VARCHAR;
ALTER TABLE results ADD COLUMN optimizer VARCHAR;
ALTER TABLE results ADD COLUMN activations VARCHAR;
ALTER TABLE results ADD COLUMN mixed VARCHAR;

-- Of a generation: to the first token, each later one, and tokens of all rows.
ALTER TABLE results ADD COLUMN ttft_ms DOUBLE;
ALTER TABLE results ADD COLUMN tpot_ms DOUBLE;
ALTER TABLE results ADD COLUMN tokens_per_s DOUBLE;

-- Of a step of training.
ALTER TABLE results ADD COLUMN forward_ms DOUBLE;
ALTER TABLE results ADD COLUMN backward_ms DOUBLE;
ALTER TABLE results ADD COLUMN step_ms DOUBLE;
