"""Tables, as the command line reads them."""
