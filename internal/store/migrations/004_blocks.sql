-- How browsers keep weights of few bits; null is the default: blocks of 32, and
-- products with them in fp32.
ALTER TABLE results ADD COLUMN block VARCHAR;
ALTER TABLE results ADD COLUMN accuracy VARCHAR;
