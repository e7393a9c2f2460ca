"""OpenVINO: its backend, its own forms of a model, quantising by NNCF, and generation with the cache inside."""
