"""How the kit reaches a store: the adapter's protocol, the abilities, and the registry that finds adapters."""
