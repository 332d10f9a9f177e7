"""One module a command: the use case, readable from top to bottom. They return values; the command line prints them."""
