"""A graph file: what it may say, what it uses of other files, what is suspicious in it, and drafts of new ones."""
