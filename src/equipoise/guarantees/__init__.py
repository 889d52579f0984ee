"""Guarantees: bounds that hold for people who were not seen, with a stated probability."""
