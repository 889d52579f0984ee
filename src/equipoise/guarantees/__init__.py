"""Guarantees: what is proven about people who were not learned from."""
