"""Seeded faults: stores that are wrong in one thing, made from the rules of a contract and from reports of the field,
and what the suites say of them."""
