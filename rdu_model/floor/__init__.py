"""The grid: where units stand, which ways their bytes take, and what that costs, estimated or placed and routed."""
