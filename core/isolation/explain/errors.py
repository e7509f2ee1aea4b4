"""What findings that are errors mean, by id."""

from __future__ import annotations

from isoscope.core.isolation.explain.explanation import Explanation

ERRORS: dict[str, Explanation] = {
    "missed-restore": Explanation(
        means=(
            "An environment stepped from another environment's state. From there on "
            "its episode is a mixture of two, and its transitions teach something "
            "that never happens."
        ),
        comes_about=(
            "In a shared scene the restore before its control step was left out, or "
            "was done for somebody else."
        ),
        do=(
            "Restore the environment's own snapshot before each control step, and "
            "leave out the rows that are marked."
        ),
        needs=(
            "native steps with transforms and velocities, or the tap's digests of "
            "the state"
        ),
    ),
    "snapshot-lost": Explanation(
        means=(
            "An exception came between restore and capture, so that the scene went "
            "on and the environment's snapshot did not: its next step begins where "
            "an earlier one did, or nowhere."
        ),
        comes_about=(
            "The action could not be applied, or a callback raised, in the middle "
            "of a control step."
        ),
        do=(
            "Catch what can fail before the restore, or capture in a finally; else "
            "end the episode."
        ),
        needs=("a recording by the tap with the events and failures of the scene"),
    ),
    "restore-failed": Explanation(
        means=(
            "A restore was refused, or brought back only part of the state. What "
            "follows begins in a state that nobody chose."
        ),
        comes_about=(
            "A snapshot of another build, precision or topology; or fields that the "
            "snapshot does not cover."
        ),
        do=(
            "Take the snapshot up with the engine that made it, and restore all "
            "fields; reset the environment otherwise."
        ),
        needs=(
            "a recording by the tap with restores, and digests before and after "
            "native steps"
        ),
    ),
    "hidden-leak": Explanation(
        means=(
            "In the shared scene an environment does something else than alone "
            "under the same actions: something reaches it that no field of the "
            "recording shows."
        ),
        comes_about=(
            "Friction, warm starts of a solver, an unrestored buffer, a global of "
            "the task."
        ),
        do=(
            "Compare with an environment alone to find the first step (isoscope audit "
            "--step-again does), then look at what ran right before it."
        ),
        needs=(
            "an independent twin (--reference), or snapshots that an engine can take "
            "up again (--step-again)"
        ),
    ),
    "config-changed": Explanation(
        means=(
            "Gravity, a mass, friction or another value that no snapshot covers was "
            "changed in a scene that several share, and others stepped under it."
        ),
        comes_about=(
            "Randomisation of one environment that is not undone before the next "
            "one's turn."
        ),
        do=(
            "Set the own configuration after every restore, or give the environment "
            "a scene of its own."
        ),
        needs=(
            "gravity in the recording; for other values the tap's configuration digests"
        ),
    ),
    "stale-read": Explanation(
        means=(
            "What was observed, drawn or asked for while the scene held another "
            "environment's state: A's picture shows B."
        ),
        comes_about=(
            "An observation, a render or `last step` that is read after somebody "
            "else's turn began."
        ),
        do=("Read before the turn ends, or restore first; keep copies."),
        needs=(
            "a recording by the tap of a shared scene, with its reads, observations "
            "or sensor frames"
        ),
    ),
    "scene-key": Explanation(
        means=(
            "Two environments that want different configurations got one scene, "
            "since its key does not tell them apart."
        ),
        comes_about=(
            "A field of the configuration is missing in the key by which scenes are "
            "pooled."
        ),
        do=("Put everything that changes the physics into the key."),
        needs=(
            "a recording by the tap with scenes, their keys, and configuration digests"
        ),
    ),
    "cleanup-failed": Explanation(
        means=(
            "Giving a scene or its handles back failed. What it held stays, and may "
            "be seen by whoever gets it next."
        ),
        comes_about=("An exception in close, or a second close in another order."),
        do=(
            "Look at the failure that is told, and close each environment once, in "
            "its own thread."
        ),
        needs=("a recording by the tap until the environments are closed"),
    ),
    "thread-shared-scene": Explanation(
        means=(
            "A scene was stepped from two threads. Engines are not made for that: "
            "states are torn, and no run repeats."
        ),
        comes_about=(
            "A viewer, a logger or a second worker that steps or reads the "
            "training's scene."
        ),
        do=("Step a scene from the thread that made it; let others ask it."),
        needs=("a recording by the tap with threads of native steps and events"),
    ),
    "step-after-done": Explanation(
        means=(
            "Control steps went on after the episode's end, without a reset. No "
            "task defines what they are: rewards beyond the end are learnt."
        ),
        comes_about=(
            "The flags are not looked at, or a reset is swallowed by a wrapper."
        ),
        do=(
            "Reset where terminated or truncated is true, and leave out what came "
            "after."
        ),
        needs=("a recording by the tap: control steps with terminated and truncated"),
    ),
    "reset-row": Explanation(
        means=(
            "A row that only resets is taken for a transition: its action was "
            "ignored, its reward is 0, and it links two episodes."
        ),
        comes_about=(
            "With NEXT_STEP the step after an end is the reset; buffers that store "
            "every row store it, too."
        ),
        do=("Leave out rows whose environment was done in the row before."),
        needs=(
            "rows that say whether they are transitions; and what the consumer stored"
        ),
    ),
    "final-observation": Explanation(
        means=(
            "At an episode's end the next episode's first observation stands where "
            "its own last one should. A time limit's value is then bootstrapped "
            "from the wrong state."
        ),
        comes_about=(
            "With SAME_STEP the returned observation is the new episode's, and "
            "infos['final_obs'] is not read."
        ),
        do=("Take final_obs where done is true."),
        needs=(
            "observations of control steps and resets; and what the consumer stored"
        ),
    ),
    "end-flags": Explanation(
        means=(
            "Terminated and truncated are confused, merged, or missing at an end: "
            "what the value beyond the end is, 0 or the critic's, is then wrong."
        ),
        comes_about=(
            "done = terminated or truncated is kept, and the two are guessed later; "
            "or a time limit is told as a failure."
        ),
        do=("Keep both flags, bootstrap at truncated and not at terminated."),
        needs=(
            "both flags, with reasons and automatic resets; and what the consumer "
            "stored"
        ),
    ),
    "aliasing": Explanation(
        means=(
            "Rows that were stored changed afterwards, because they are views of a "
            "buffer that the next step writes into."
        ),
        comes_about=(
            "results='views', shared memory, or torch.from_numpy without a copy."
        ),
        do=("Copy what you keep, or ask for results='owned'."),
        needs=(
            "what the consumer stored, told as it hands its rows over; or "
            "observations and actions"
        ),
    ),
    "observation-schema": Explanation(
        means=(
            "Observations come in another order, dtype or unit than their space "
            "declares. A policy reads each number as what stood there in training."
        ),
        comes_about=(
            "Fields joined in the order of a dict, degrees for radians, half "
            "precision on the way."
        ),
        do=("Name every component with its unit, and read by name."),
        needs=(
            "observations, their space with names and units, and native fields or "
            "what was stored"
        ),
    ),
    "action-range": Explanation(
        means=(
            "Actions lie outside their box, most are cut off, or raw and clipped "
            "ones are confused: what was done is not what is learnt from."
        ),
        comes_about=(
            "A policy in -1 to 1 for an environment in newtons, or a second "
            "clipping in a wrapper."
        ),
        do=(
            "Scale the policy's output to the box, clip once, and store which one "
            "you mean."
        ),
        needs=("raw and clipped actions and the limits of their space"),
    ),
    "non-finite": Explanation(
        means=(
            "A state, observation, action or reward is NaN or infinite, and so is "
            "all that follows from it."
        ),
        comes_about=(
            "A simulation that diverged, a division by 0 in a reward, a policy that "
            "exploded."
        ),
        do=(
            "Look at the steps before the first one; end the episode there, and "
            "leave it out."
        ),
        needs=("native fields or transitions with real values"),
    ),
    "unconverged": Explanation(
        means=(
            "A native step whose solver did not converge is part of a transition: "
            "the state after it obeys no equation."
        ),
        comes_about=("Steps too long, forces too large, too few iterations."),
        do=("Shorten h or allow more iterations; mark the transition as not usable."),
        needs=("solver statuses of native steps, as the tap tells them"),
    ),
    "masked-info": Explanation(
        means=(
            "What stands in an info array where its mask is unset was taken for a "
            "value: a zero that nobody meant."
        ),
        comes_about=("infos['x'][i] is read without infos['_x'][i]."),
        do=("Read under the mask, and keep absent apart from 0."),
        needs=("infos with their masks, and what the consumer stored"),
    ),
    "absent-field": Explanation(
        means=(
            "A field is there in some steps and absent in others, or was stored as "
            "zero where the engine has none."
        ),
        comes_about=(
            "Recording options that changed, or nan_to_num and zeros() in a converter."
        ),
        do=("Keep a mask, and leave these rows out where the field is needed."),
        needs=("native fields of several steps; and what the consumer stored"),
    ),
    "target-as-action": Explanation(
        means=(
            "A controller's target, or a joint's pose, is stored as the action. It "
            "is delayed, scaled, or held where the policy did something else."
        ),
        comes_about=("The recording has targetPose and no actions, so that was taken."),
        do=("Record what is given to env.step."),
        needs=(
            "what the consumer stored, the actions as given, and native targets and "
            "poses"
        ),
    ),
}
