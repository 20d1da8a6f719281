"""The binding of each contract to the kit, one module each."""
