"""The jobs contract: a store that enqueues, admits and finishes jobs by its own clock."""
