"""What is counted of a graph beside its FLOPs and bytes: work that must be done, lookups, room, what fusing saves."""
