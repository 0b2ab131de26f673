"""config.json files as Hugging Face writes them, with the facts that fix a model's shapes."""
