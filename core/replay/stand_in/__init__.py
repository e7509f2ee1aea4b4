"""A model in the built-in simulator standing in for the engine that recorded.

`fitting` says whether the model can express what was recorded, `states` takes states of
it from the recording, `inputs` what drove it, `predicting` steps it from each recorded
state and freely, and `report` says how far that is from what was recorded.
"""
