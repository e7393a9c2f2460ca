"""Whether outputs are right: a reference, a comparison, a damaged model that must be noticed, and where it all ran."""
