"""The workload contract: an authority that decides while workers execute. `CONTRACT` is all of it in one value."""
