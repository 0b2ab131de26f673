"""The call level: calls launched by a host and run by a device, as a Program in picoseconds."""
