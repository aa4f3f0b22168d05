#!/bin/sh
# strigger: is given the id of the job and nothing else; set it for a job with
#   strigger --set --jobid=JOBID --fini --program=/etc/slurm/firstfault-strigger.sh
exec /usr/bin/firstfault notify generic --scheduler slurm --id "$1"
