"""What warnings and notes mean, by id."""

from __future__ import annotations

from isoscope.core.isolation.explain.explanation import Explanation

OTHERS: dict[str, Explanation] = {
    "duplicate-seeds": Explanation(
        means=(
            "Several environments got one seed: they are copies of each other, and "
            "W·K environments are worth W+K-1."
        ),
        comes_about=("Worker w seeds its environments with seed + i, forgetting w."),
        do=("Spawn seeds with numpy.random.SeedSequence, or seed by the global index."),
        needs=("seeds of resets as they arrived at the environments"),
    ),
    "identical-start": Explanation(
        means=(
            "Environments begin their episodes in the same state, to the last bit, "
            "though they should not."
        ),
        comes_about=("One seed, no noise at the reset, or a restored common snapshot."),
        do=("Seed by environment, and draw the start from its own generator."),
        needs=("states, digests or observations after resets"),
    ),
    "same-seed-every-reset": Explanation(
        means=(
            "An environment is given its seed at every reset, so that all its "
            "episodes draw the same numbers."
        ),
        comes_about=("reset(seed=seed) inside the training's loop."),
        do=("Give a seed at the first reset only."),
        needs=("seeds of several resets, or digests of the generator"),
    ),
    "unseeded-action-space": Explanation(
        means=(
            "Actions were drawn from a space that nobody seeded: the run can't be "
            "repeated."
        ),
        comes_about=(
            "action_space.sample() after env.reset(seed=…), which does not seed the "
            "space."
        ),
        do=("Call action_space.seed(seed) once."),
        needs=("digests of the action space's generator, as the tap records them"),
    ),
    "shared-task-state": Explanation(
        means=(
            "Several environments share a task object, a counter or a random "
            "generator; what one does, another feels."
        ),
        comes_about=("A default argument, a class attribute or a module's global."),
        do=("Make state in the constructor, one for each environment."),
        needs=("digests of generators, or task state at control steps"),
    ),
    "context-threads": Explanation(
        means=(
            "A worker's threads are not those of the live context, or all of them "
            "take more threads than there are cores."
        ),
        comes_about=("Libraries that start a thread a core in every worker."),
        do=("Set threads_per_worker, OMP_NUM_THREADS and torch.set_num_threads."),
        needs=("threads and cores as the tap tells them"),
    ),
    "hidden-state-not-reset": Explanation(
        means=(
            "A recurrent policy remembers the last episode, or took a step in a row "
            "that only resets."
        ),
        comes_about=(
            "Its state is not masked by done, or by the reset rows of NEXT_STEP."
        ),
        do=("Zero it where an episode begins, and don't advance it in reset rows."),
        needs=("the policy's state as a field of transitions"),
    ),
    "frame-restamped": Explanation(
        means=(
            "A sensor's frame is an old one under a new stamp, or two frames have "
            "one stamp: the policy sees a delay that the data deny."
        ),
        comes_about=(
            "The time is taken at the read and not at the capture; a camera thread "
            "that fell behind."
        ),
        do=("Stamp at capture, wait for a new number, and say when there is none."),
        needs=("sensor frames with count, times and digest, by tap.stream"),
    ),
    "callback-moved-state": Explanation(
        means=(
            "Something moved bodies outside of the dynamics: their velocity does "
            "not tell that motion."
        ),
        comes_about=(
            "A post-step callback that sets transforms; teleports between steps."
        ),
        do=("Move bodies before the step, or set velocities as well."),
        needs=("transforms and velocities, or digests before and after native steps"),
    ),
    "handle-as-env": Explanation(
        means=(
            "A native handle is used for an environment's number: rows of one "
            "environment are split, or those of several merged."
        ),
        comes_about=(
            "Grouping by actor handles of a process, which repeat in every worker "
            "and change in every run."
        ),
        do=("Label rows by the global index in the vector environment."),
        needs=(
            "control steps with their environment, and what the consumer labels "
            "them with"
        ),
    ),
    "rounded-values": Explanation(
        means=(
            "States were written with fewer digits than the engine has: a replay "
            "from them departs at once."
        ),
        comes_about=("float16 or decimal text on the way to the file."),
        do=("Record the engine's own numbers."),
        needs=("native fields of some dozen steps"),
    ),
    "profile-sum": Explanation(
        means=(
            "A profile's parts add up to more than the whole: what it says of the "
            "costs is wrong."
        ),
        comes_about=("An entry added twice, or milliseconds told as seconds."),
        do=("Add each entry once, with the unit that it is in."),
        needs=("a profile whose entries say what contains them"),
    ),
    "incomplete-recording": Explanation(
        means=(
            "Part of what happened is not in the file: steps, records or its end; or "
            "something failed on the way."
        ),
        comes_about=(
            "An exception in a step, a crash, a full disk, a killed worker, or a "
            "recorder that did not keep up."
        ),
        do=(
            "Cut episodes at the gaps; isoscope repair makes a clean copy of what "
            "is there."
        ),
        needs=("any recording; the tap's own counts of what it dropped"),
    ),
    "clock-mismatch": Explanation(
        means=(
            "Clocks that should agree do not: recording time is not the sum of the "
            "steps, or M native steps are no control step."
        ),
        comes_about=(
            "Files put together or edited, or frequencies that do not divide."
        ),
        do=("Treat the parts as recordings of their own; say the right frequencies."),
        needs=("times and h of native steps; and the control frequency"),
    ),
    "return-units": Explanation(
        means=(
            "Returns are in another unit, or of runs with different control "
            "frequencies. Twice the frequency gives about twice the return."
        ),
        comes_about=(
            "Rewards times seconds in one place, and sums a control step in another."
        ),
        do=(
            "Divide by the length, or scale rewards by the control step's length in "
            "all runs."
        ),
        needs=(
            "returns as the consumer has them; or a --reference of another frequency"
        ),
    ),
    "rewind": Explanation(
        means=(
            "An environment went back to an earlier state of its own. No fault: but "
            "clocks part there."
        ),
        comes_about=("A restore on purpose, for a search or a retry."),
        do=("Nothing; know that recording time goes on where scene time went back."),
        needs=("native steps with transforms and velocities, or digests"),
    ),
    "zero-step": Explanation(
        means=(
            "A native step of 0 s: nothing moves in it, and velocities from "
            "differences are undefined."
        ),
        comes_about=("A flush or a read-back that steps by nothing."),
        do=("Leave it out where you divide by h."),
        needs=("h of native steps"),
    ),
    "free-scene": Explanation(
        means=("A scene that nobody resets: its steps belong to no episode."),
        comes_about=("Warming up, rendering, a scene that runs beside."),
        do=("Nothing; don't look for episodes in it."),
        needs=("native steps and whose they are"),
    ),
}
