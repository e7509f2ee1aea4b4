"""Running the roles: in one thread, or each in its own.

`synchronous` alternates between the environments and the policy, source by source, and
ends after a training step, so that what comes next acts with what was learned from it.
`threaded` lets every environment role run by itself: asynchronously, each request is
answered as it comes; decoupled, those that wait are answered together.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import torch

from isoscope.core.channel.errors import ChannelClosedError, ChannelEmptyError
from isoscope.core.channel.local import LocalChannel
from isoscope.core.trajectory.policy_input import PolicyInput

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from isoscope.core.collection.env_role import EnvRole
    from isoscope.core.collection.rollout_role import RolloutRole

Tensor = torch.Tensor
TIMEOUT_S = 600.0  # for one step of the slowest environment, or one inference


def synchronous(
    roles: Sequence[EnvRole],
    rollout: RolloutRole,
    step_id: int,
    between: Callable[[], object] = lambda: None,
) -> None:
    """Run one training step of all roles in this thread.

    Parameters
    ----------
    roles, rollout
        Who asks, and who answers.
    step_id
        Which training step.
    between
        Called after every answer: to take what has come out, so that there is room.
    """
    _alternate(roles, rollout, [role.step(step_id) for role in roles], between)


def finish(
    roles: Sequence[EnvRole],
    rollout: RolloutRole,
    between: Callable[[], object] = lambda: None,
) -> None:
    """Let the roles say what is left, after their last step."""
    _alternate(roles, rollout, [role.close() for role in roles], between)


def _alternate(
    roles: Sequence[EnvRole],
    rollout: RolloutRole,
    runs: Sequence[Generator[PolicyInput, Tensor | None, None]],
    between: Callable[[], object],
) -> None:
    answers: dict[int, Tensor | None] = dict.fromkeys(range(len(roles)))
    while answers:
        for at, answer in list(answers.items()):
            try:
                request = runs[at].send(answer)
            except StopIteration:
                del answers[at]
                continue
            answers[at] = rollout.answer(request)
            between()


def threaded(
    roles: Sequence[EnvRole],
    rollout: RolloutRole,
    steps: range,
    *,
    merge_at_most: int = 1,
    timeout_s: float = TIMEOUT_S,
) -> None:
    """Run training steps with a thread for each role; the policy answers in this one.

    Parameters
    ----------
    roles, rollout
        Who asks, and who answers.
    steps
        Which training steps.
    merge_at_most
        How many requests are answered together; 1 for the asynchronous loop.
    timeout_s
        How long a request or an answer may be waited for.

    Raises
    ------
    Exception
        What the policy, the channel or else the first role raised. What other roles
        asked is still answered.
    """
    names = [f"env-{at}" for at in range(len(roles))]
    requests = LocalChannel("requests", producers=names, timeout_s=timeout_s)
    answers = LocalChannel("answers", timeout_s=timeout_s)
    problems: list[BaseException] = []
    threads = [
        threading.Thread(
            target=_ask,
            args=(role, name, steps, requests, answers, problems),
            name=name,
            daemon=True,
        )
        for role, name in zip(roles, names, strict=True)
    ]
    for thread in threads:
        thread.start()
    try:
        for batch in _batches(requests, merge_at_most):
            _answer(rollout, batch, answers)
    finally:
        requests.close()
        answers.close()
        for thread in threads:
            thread.join()
    if problems:
        raise problems[0]


def _ask(
    role: EnvRole,
    name: str,
    steps: range,
    requests: LocalChannel,
    answers: LocalChannel,
    problems: list[BaseException],
) -> None:
    try:
        with requests.producer(name) as sender:
            for run in (*(role.step(step) for step in steps), role.close()):
                answer: Tensor | None = None
                while True:
                    try:
                        request = run.send(answer)
                    except StopIteration:
                        break
                    sender.put(request)
                    answer = None if request.is_last else answers.get(key=role.source)
    except ChannelClosedError:
        pass  # the policy failed; that is what is raised
    except Exception as error:  # noqa: BLE001 raised again by whoever runs the threads
        problems.append(error)


def _batches(requests: LocalChannel, at_most: int) -> Iterator[list[PolicyInput]]:
    """Requests as they come, those that already wait and fit together at once."""
    held: PolicyInput | None = None
    while True:
        try:
            first = requests.get() if held is None else held
        except ChannelClosedError:
            return
        held, batch = None, [first]
        while len(batch) < at_most and not first.is_last:
            try:
                other = requests.get(timeout_s=0)
            except (ChannelEmptyError, ChannelClosedError):
                break
            if other.is_last or other.requires_inference != first.requires_inference:
                held = other
                break
            batch.append(other)
        yield batch


def _answer(
    rollout: RolloutRole, batch: Sequence[PolicyInput], answers: LocalChannel
) -> None:
    merged = batch[0] if len(batch) == 1 else PolicyInput.merge(batch)
    actions = rollout.answer(merged)
    if actions is None:
        return
    sizes = [request.request_sizes[0] for request in batch]
    for request, own in zip(batch, torch.split(actions, sizes), strict=True):
        answers.put(own, key=request.sources[0].key.source)
