"""Makes this folder importable, so that tests of every folder can share `raw_tables`."""
