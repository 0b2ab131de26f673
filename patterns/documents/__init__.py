"""Text files as checked data: YAML and JSON with the places of their values, machine parameters, mistakes in words."""
