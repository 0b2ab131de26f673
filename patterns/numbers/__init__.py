"""Plans run on numpy arrays: tile by tile, with sums in parts, rounded as the machine does, at small extents."""
