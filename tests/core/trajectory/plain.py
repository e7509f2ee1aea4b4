"""The contract's sections 2, 3 and 5 once more, as plainly as they are written.

Row by row, without any of the collector's code, so that the two can be compared: what
complete scopes give, in rollout and in pipeline mode, with RLinf's rule for flags.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch

from isoscope.core.trajectory import EnvPart, PolicyPart, TrajectoryKey

Tensor = torch.Tensor
Tree = dict[str, Any]
Chunk = tuple[PolicyPart, EnvPart]
FIRST = ("dones", "terminations", "truncations")  # one row more before each epoch
EXTRA = (*FIRST, "prev_values")


@dataclass(frozen=True)
class Layout:
    """The numbers of a run; N environments, S sources, W actors, as the contract."""

    cfg: dict[str, Any]
    sources: int
    actors: int

    @property
    def train(self) -> dict[str, Any]:
        return dict(self.cfg["env"]["train"])

    @property
    def algorithm(self) -> dict[str, Any]:
        return dict(self.cfg["algorithm"])

    @property
    def envs(self) -> int:
        return int(self.train["total_num_envs"])

    @property
    def chunks(self) -> int:
        width = self.cfg["actor"]["model"]["num_action_chunks"]
        return int(self.train["max_steps_per_rollout_epoch"]) // int(width)


def spread(flags: Tensor, width: int) -> Tensor:
    """Flags [B], [B, 1] or [B, C] over all numbers of an action: [B, width]."""
    columns = flags.reshape(len(flags), -1)
    slots = columns.shape[1]
    rows = [[bool(row[at * slots // width]) for at in range(width)] for row in columns]
    return torch.tensor(rows, dtype=torch.bool).reshape(len(flags), width)


def rewards_of(layout: Layout, env: EnvPart) -> Tensor:
    """Section 2.3."""
    weights = {"env_reward_weight": 0.0, "reward_weight": 1.0, **layout.cfg["reward"]}
    transition = env.transition
    assert transition.rewards is not None
    found = transition.rewards.clone()
    if transition.reward_model_output is not None:
        found = weights["env_reward_weight"] * transition.rewards
        found = found + weights["reward_weight"] * transition.reward_model_output
    if env.bootstrap_values is None or not layout.train["auto_reset"]:
        return found
    kind = layout.algorithm.get("bootstrap_type", "standard")
    ended = transition.truncations if kind == "standard" else transition.dones
    assert ended is not None
    for row in range(len(found)):
        if ended[row, -1]:
            bootstrap = layout.algorithm.get("gamma", 1.0) * env.bootstrap_values[row]
            found[row, -1] += bootstrap.item()
    return found


def step_of(layout: Layout, chunk: Chunk) -> Tree:
    """One chunk: sections 1.9 and 2.5."""
    policy, env = chunk
    output, transition = policy.output, env.transition
    assert output is not None
    inputs = dict(output.forward_inputs)
    actions = inputs["action"]
    flags = torch.zeros(actions.shape, dtype=torch.bool)
    expert, marked = transition.intervene_actions, transition.intervene_flags
    if expert is not None and marked is not None:
        flags = spread(marked, actions.shape[1])
        actions = actions.clone()
        for row, at in flags.nonzero().tolist():
            actions[row, at] = expert[row, at]
        inputs["action"] = actions
        inputs.pop("model_action", None)
    if output.intervene_flags is not None:
        flags = spread(output.intervene_flags, actions.shape[1])
    return {
        "actions": actions,
        "intervene_flags": flags,
        "rewards": rewards_of(layout, env),
        **{name: getattr(transition, name) for name in FIRST},
        **{name: getattr(output, name) for name in ("prev_logprobs", "versions")},
        "prev_values": output.prev_values,
        "forward_inputs": inputs,
    }


def trajectory_of(layout: Layout, chunks: dict[TrajectoryKey, Chunk]) -> Tree:
    """The chunks of one source in order: sections 2.4 and 2.7."""
    steps = {key: step_of(layout, chunks[key]) for key in sorted(chunks)}
    order = list(steps)
    weight = layout.cfg["reward"].get("reward_weight", 1.0)
    for at, key in enumerate(order):
        transition = chunks[key][1].transition
        for row, length in enumerate(transition.reward_assign_lengths or []):
            for back in range(1, min(length, at + 1)):
                assert transition.reward_model_output is not None
                delayed = weight * transition.reward_model_output[row]
                steps[order[at - back]]["rewards"][row] += delayed
    rows: dict[str, list[Tensor]] = {}
    for key, step in steps.items():
        env = chunks[key][1]
        for name, value in step.items():
            if name == "forward_inputs":
                continue
            if key.chunk_id == 0 and name in FIRST:
                rows.setdefault(name, []).append(getattr(env.initial_transition, name))
            if value is not None:
                rows.setdefault(name, []).append(value)
            if key.chunk_id == layout.chunks - 1 and name == "prev_values":
                if env.final_prev_values is not None:
                    rows.setdefault(name, []).append(env.final_prev_values)
    trees = [step["forward_inputs"] for step in steps.values()]
    inputs = {name: torch.stack([tree[name] for tree in trees]) for name in trees[0]}
    stacked = {name: torch.stack(values) for name, values in rows.items()}
    return {**stacked, "forward_inputs": inputs}


def cut(tree: Tree, begin: int, end: int) -> Tree:
    """Some environments of a trajectory."""
    return {
        name: cut(value, begin, end) if isinstance(value, dict) else value[:, begin:end]
        for name, value in tree.items()
    }


def rollout(layout: Layout, chunks: dict[TrajectoryKey, Chunk]) -> list[Tree]:
    """What one source's scope gives: section 3.2."""
    whole = trajectory_of(layout, chunks)
    shards = math.lcm(layout.sources, layout.actors) // layout.sources
    size = layout.envs // layout.sources // shards
    return [cut(whole, at * size, (at + 1) * size) for at in range(shards)]


def pipeline(
    layout: Layout,
    sources: list[dict[TrajectoryKey, Chunk]],
    generators: dict[int, torch.Generator],
) -> list[tuple[str, Tree]]:
    """What an epoch of all sources gives: section 5."""
    algorithm, seed = layout.algorithm, layout.cfg["actor"]["seed"]
    whole = [trajectory_of(layout, chunks) for chunks in sources]
    wide = torch.arange(layout.envs)
    emitted = []
    for actor in range(layout.actors):
        mine = set(wide.chunk(layout.actors)[actor].tolist())
        shards = []
        for rank, tree in enumerate(whole):
            owned = wide.chunk(layout.sources)[rank].tolist()
            at = [number for number, env in enumerate(owned) if env in mine]
            if at:
                shards.append(prepared(layout, cut(tree, at[0], at[-1] + 1)))
        if algorithm.get("normalize_advantages", True):
            normalise(shards)
        for shard in shards:
            time, batch = shard["prev_logprobs"].shape[:2]
            order = list(range(time * batch))
            if algorithm.get("shuffle_rollout", True):
                if actor not in generators:
                    generators[actor] = torch.Generator().manual_seed(seed + actor)
                count = time * batch
                order = torch.randperm(count, generator=generators[actor]).tolist()
            flat = flattened(shard, order, batch)
            size = layout.cfg["actor"]["micro_batch_size"]
            for begin in range(0, len(order), size):
                part = {k: v[begin : begin + size] for k, v in flat.items()}
                emitted.append((f"{actor}_{actor}_pipeline_actor", part))
    return emitted


def flattened(shard: Tree, order: list[int], batch: int) -> dict[str, Tensor]:
    """Rows t·b + e in an order; nested keys joined."""
    found: dict[str, Tensor] = {}
    for name, value in shard.items():
        leaves = {name: value}
        if isinstance(value, dict):
            leaves = {f"{name}::{key}": leaf for key, leaf in value.items()}
        for key, leaf in leaves.items():
            kept = leaf[:-1] if name in EXTRA else leaf
            found[key] = torch.stack([kept[n // batch, n % batch] for n in order])
    return found


def prepared(layout: Layout, shard: Tree) -> Tree:
    """The masks, then advantages and returns: sections 5.3 and 5.4."""
    algorithm, train = layout.algorithm, layout.train
    by_chunk = algorithm["reward_type"] == "chunk_level"
    found = dict(shard)
    mask: Tensor | None = None
    if not train["auto_reset"] and not train["ignore_terminations"]:
        mask = valid_slots(shard["dones"])
        count = mask.sum(dim=(0, 2))[None, :, None].expand(mask.shape)
        if by_chunk:
            mask, count = mask.any(dim=2, keepdim=True), count[:, :, :1]
        found |= {"loss_mask": mask, "loss_mask_sum": count}
    if algorithm.get("filter_rewards", False):
        counted = shard["rewards"] * (1 if mask is None else mask)
        groups = counted.sum(dim=(0, 2)).reshape(-1, algorithm["group_size"]).mean(1)
        low, high = (algorithm[f"rewards_{end}_bound"] for end in ("lower", "upper"))
        kept = ((groups >= low) & (groups <= high)).repeat_interleave(
            algorithm["group_size"]
        )
        columns = kept[None, :, None].expand(len(counted), -1, 1)
        mask = columns if mask is None else mask & columns
        found["loss_mask"] = mask
    return {**found, **advantages(layout, shard, mask)}


def valid_slots(dones: Tensor) -> Tensor:
    """A slot counts if nothing was done before it; of the first row, its last says."""
    rows, batch, slots = dones.shape
    valid = torch.zeros(rows - 1, batch, slots, dtype=torch.bool)
    for env in range(batch):
        over = bool(dones[0, env, -1])
        for row in range(rows - 1):
            for slot in range(slots):
                valid[row, env, slot] = not over
                over = over or bool(dones[row + 1, env, slot])
    return valid


def advantages(layout: Layout, shard: Tree, mask: Tensor | None) -> Tree:
    """The table of section 5.4, environment by environment."""
    algorithm = layout.algorithm
    rewards, dones = shard["rewards"], shard["dones"]
    if algorithm["reward_type"] == "chunk_level":
        rewards = rewards.sum(dim=2, keepdim=True)
        dones = dones.any(dim=2, keepdim=True)
    time, batch, columns = rewards.shape
    steps = time * columns
    found = torch.zeros(time, batch, columns)
    scores = torch.zeros(batch)
    values = shard.get("prev_values")
    returns = torch.zeros(time, batch, columns)
    for env in range(batch):
        reward = rewards[:, env].flatten().tolist()
        done = dones[:, env].flatten().tolist()[-(steps + 1) :]
        following = 0.0
        for step in reversed(range(steps)):
            on = 0.0 if done[step + 1] else 1.0
            scores[env] = scores[env] * on + reward[step]
            if algorithm["adv_type"] != "gae":
                continue
            assert values is not None
            value = values[:, env].flatten().tolist()
            gamma, decay = (algorithm.get(n, 1.0) for n in ("gamma", "gae_lambda"))
            delta = reward[step] + gamma * value[step + 1] * on - value[step]
            following = delta + gamma * decay * on * following
            found[step // columns, env, step % columns] = following
            returns[step // columns, env, step % columns] = following + value[step]
    if algorithm["adv_type"] == "gae":
        return {"advantages": found, "returns": returns}
    assert mask is not None
    if algorithm["adv_type"] == "grpo":
        groups = scores.reshape(-1, algorithm["group_size"])
        off = groups - groups.mean(dim=1, keepdim=True)
        scores = (off / (groups.std(dim=1, keepdim=True) + 1e-6)).flatten()
    return {"advantages": scores[None, :, None].expand(time, batch, columns) * mask}


def normalise(shards: list[Tree]) -> None:
    """Section 5.5, in place; over all shards of one actor."""
    counted = []
    for shard in shards:
        values, mask = shard["advantages"].double(), shard.get("loss_mask")
        counted.append(values.flatten() if mask is None else values[mask])
    every = torch.cat(counted)
    mean = every.sum() / max(1, len(every))
    variance = ((every * every).sum() / max(1, len(every)) - mean * mean).clamp(min=0)
    for shard in shards:
        off = shard["advantages"].double() - mean
        shard["advantages"] = (off / (variance + 1e-5).sqrt()).float()
