"""The processes of a runner: who starts whom, and how they speak.

`start` becomes the runner. A small `keeper` stays in front of it and leaves nothing behind when either side dies.
Behind it is one of two supervisors: `zygote` (Linux) imports the heavy `libraries` once, computes nothing and forks a
child for each job; `spawn` (elsewhere, or with --spawn) starts a fresh interpreter for each. Both relay what the child
says (`supervision`, `forked`) and speak the same messages (`protocol`). In the child, `child` runs the job, or
several in turn (`turns`), and `emit` is how it reports.

Nothing here imports anything heavy, or anything of the folders above: what runs a job is found by the table
`assay_runner.jobs`, by name, when there is a job.
"""
