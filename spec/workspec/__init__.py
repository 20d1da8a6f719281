"""The executable specification of durable work stores: pure values and functions, no I/O, no clock."""
