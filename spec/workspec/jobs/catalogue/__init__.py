"""The requirement texts of the jobs contract, by subject; `workspec.jobs.requirements` joins them.

The kind of a requirement says where its id is to be found: a *rule* at a check, an effect, a condition or a
row of the transition table, an *invariant* at a check of states, a *scenario* in a case. What a text calls
the store's choice, or says that a store may do or declare, is not held against a store that decides so.
"""
