"""Exported vectors: the cases of the kit with complete expectations, for runners in any language.

`play` makes a case on the model, `marks` and `choosing` find out what the contract leaves to the store, `expected` and
`literals` write values and matchers, `vector` makes a vector of a case or says why it cannot, `files` writes them all.
"""

from workcert.vectors.files import Exported, export, schema
from workcert.vectors.vector import FORMAT, LeftOut, Vector, vector_of

__all__ = ["FORMAT", "Exported", "LeftOut", "Vector", "export", "schema", "vector_of"]
