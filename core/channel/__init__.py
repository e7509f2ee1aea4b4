"""How parts travel from producers to the consumers that train.

A channel takes items from any number of producers, lets its collector turn them into
others, deals these to its consumers, and holds back producers that are faster than the
consumers. `local` is a channel in this process (threads and spawned processes),
`ray_channel` one on Ray, behind the same interface (`base`). `hooks` says what a
collector and a dispatcher are.
"""
