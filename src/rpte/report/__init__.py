"""Pictures of models: plain SVG, built from the `Model` alone."""
