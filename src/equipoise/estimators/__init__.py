"""Estimators: the scikit-learn face of the reductions (section 3)."""
