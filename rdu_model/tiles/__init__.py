"""Which loops a section has and which tiles: ways to nest, and the predicted time that chooses among them."""
