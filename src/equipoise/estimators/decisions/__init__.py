"""From a fitted model to decisions: one rule, scores, exactly k people, explanations."""
