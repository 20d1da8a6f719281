"""Stores of durable work that one can use: an in-memory test double and an embedded SQLite store."""
