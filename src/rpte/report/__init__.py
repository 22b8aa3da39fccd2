"""Pictures of models and of the frontier: SVG and text, built from the `Model` alone."""
