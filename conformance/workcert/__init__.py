"""The conformance kit: certifies any store of durable work against the executable specification."""
