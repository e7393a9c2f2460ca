-- The name that a user gave a run, and the side of an interleaved comparison that a
-- result is of. What was loaded before has neither.

ALTER TABLE runs ADD COLUMN name VARCHAR;
ALTER TABLE results ADD COLUMN side VARCHAR;
