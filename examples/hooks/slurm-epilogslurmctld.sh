#!/bin/sh
# EpilogSlurmctld: runs on the controller when an allocation ends, also when it is requeued. It does not know the state of the job.
# slurm.conf: EpilogSlurmctld=/etc/slurm/firstfault-epilogslurmctld.sh
exec /usr/bin/firstfault notify slurm
