"""Tables and a state diagram out of a contract's rules: pure text, no I/O. `pages.render` is the way in."""
