"""Under which of several requirements a failure is named first: the author of a case knows best what it is about."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from workcert.judge.verdict import Failure, Kind
from workspec.core.contract import Contract


def as_the_case_says(contract: Contract, failure: Failure, ids_of_case: Sequence[str], *, restarted: bool) -> Failure:
    """The failure with one of the ids of its case first, where that took part or may have caused what was seen.

    What nobody can read back may have been lost at a restart, and then shows in a later answer.
    """
    further = contract.comparisons["restart"] if restarted and failure.kind is Kind.ANSWER else ()
    ids = tuple(dict.fromkeys((*failure.requirements, *further)))
    causes = {cause for each in ids for cause in contract.symptoms.get(each, ())}
    # Where a fault may be seen under several ids, those of the case are asked in their own order.
    meant = [each for each in ids_of_case if each in ids or each in causes] if causes or further else []
    meant += [each for each in ids if each in ids_of_case]
    return evolve(failure, requirements=tuple(dict.fromkeys((*meant[:1], *ids))))
