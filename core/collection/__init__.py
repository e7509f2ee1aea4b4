"""Collecting: environments, a policy and a sink around the trajectory collector.

An environment role (`env_role`) asks for actions and brings along what became of the
last ones; a rollout role (`rollout_role`) answers and publishes both halves of every
chunk, so that they have one producer and one order; a sink (`sink`) takes what the
collector gives out. `loops` runs them synchronously, asynchronously or decoupled: the
same parts in one thread or in several.
"""
