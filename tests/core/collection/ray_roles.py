"""Environments and policy in a process of their own: `python -m ... CHANNEL STEPS`."""

from __future__ import annotations

import sys

from isoscope.core.channel.ray_channel import RayChannel
from isoscope.core.channel.ray_cluster import leave_cluster
from isoscope.core.collection.producer import Producer
from isoscope.core.collection.run import PRODUCER
from isoscope.core.collection.settings import CollectSettings

RUN = CollectSettings(
    env="CartPole-v1", envs=8, steps=96, horizon=32, workers=2, transitions=True
)


def main() -> None:
    channel = RayChannel.connect(sys.argv[1])
    with channel.producer(PRODUCER) as sender:
        producer = Producer(RUN, sender)
        for step in range(RUN.training_steps):
            producer.run_step(step)
        producer.close()
    leave_cluster()


if __name__ == "__main__":
    main()
