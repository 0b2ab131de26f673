"""What maps, zips and reduces compute: numpy meanings, and what one element costs."""
