#!/bin/sh
# jobcomp/script: the only hook that is told the state of the job, and the only one that runs for jobs that never started. One at a
# time runs on the controller, so it must not wait for anything.
# slurm.conf: JobCompType=jobcomp/script  JobCompLoc=/etc/slurm/firstfault-jobcomp.sh
exec /usr/bin/firstfault notify slurm
