"""The requirement texts of the workload contract, by subject; `workspec.workload.requirements` joins them.

The kind of a requirement says where its id is to be found: a *rule* at a check, an effect, a condition or a
row of the transition table, an *invariant* at a check of states, a *scenario* in a case. What a text calls
the store's choice, or says that a store may do, is not held against a store that decides so.
"""
