"""Proofs about people who were not learned from, and the monitor of a deployed model."""
