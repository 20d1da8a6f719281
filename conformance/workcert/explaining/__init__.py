"""Why a shrunk case fails: which of its values do not matter, and why each of its steps is needed.

Shrinking takes away what can go. What is left looks as if all of it mattered; this tells what does.
"""
