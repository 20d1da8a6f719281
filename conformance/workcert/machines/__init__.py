"""Hypothesis machines, one for each contract: one rule for each operation, arguments drawn in its signature."""
