"""Adapters to begin with, as ``workcert new-adapter`` writes them: real modules, checked and tested like the rest."""
