"""Matrix products: their dims, looked-up rows, narrow and scaled operands, split sums."""
