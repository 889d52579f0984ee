"""The game between learner and multipliers (section 3)."""
