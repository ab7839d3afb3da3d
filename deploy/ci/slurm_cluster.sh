# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A private Slurm cluster of one node: munged, slurmctld and slurmd on loopback, everything in one
# directory, which every user has to be able to enter. Sourced.
#
#   slurm_can_run || ...     says why not
#   slurm_start DIRECTORY    then srun, sbatch, ... ; what DIRECTORY/plugstack.conf has is loaded
#   slurm_stop

slurm_can_run() {
  local program
  [ "$(id -u)" -eq 0 ] || { echo "slurmd runs jobs of other users for root only"; return 1; }
  for program in munged slurmctld slurmd srun; do
    command -v $program >/dev/null || { echo "$program is missing"; return 1; }
  done
  [ -f /usr/include/slurm/spank.h ] || { echo "libslurm-dev is missing"; return 1; }
}

# until_true SECONDS COMMAND...: polls.
until_true() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$deadline" ] || return 1
    sleep 0.05
  done
}

# The node has more processors than the machine, so that jobs wait for nothing but what they ask for.
slurm_write_configuration() {
  local directory=$1 host
  host=$(hostname -s)
  cat >"$directory/slurm.conf" <<CONF
ClusterName=holdfast
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=16817
SlurmdPort=16818
SrunPortRange=16830-16899
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$directory/munge/munge.socket
CredType=cred/munge
StateSaveLocation=$directory/state
SlurmdSpoolDir=$directory/spool
SlurmctldPidFile=$directory/slurmctld.pid
SlurmdPidFile=$directory/slurmd.pid
SlurmctldLogFile=$directory/slurmctld.log
SlurmdLogFile=$directory/slurmd.log
SlurmdParameters=config_overrides
PlugStackConfig=$directory/plugstack.conf
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
MailProg=/bin/true
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
ReturnToService=2
KillWait=2
GresTypes=holdfast_mem
NodeName=$host NodeAddr=127.0.0.1 CPUs=16 RealMemory=1024 Gres=holdfast_mem:16
PartitionName=all Nodes=ALL Default=YES MaxTime=10 State=UP
CONF
  echo "Name=holdfast_mem Count=16 Flags=CountOnly" >"$directory/gres.conf"
}

# Clients of a controller that is gone try again for half a minute: ask only while it lives.
slurm_controller_answers() { kill -0 "$slurm_controller" 2>/dev/null && scontrol ping | grep -q UP; }
slurm_has_no_job() { [ -z "$(squeue --noheader)" ]; }
slurm_node_is() { [[ $(sinfo --noheader --format=%t) == "$1"* ]]; }

slurm_start() {
  local directory=$1
  mkdir -p "$directory/munge" "$directory/state" "$directory/spool"
  chmod 755 "$directory" "$directory/munge"
  (umask 077 && head -c 128 /dev/urandom >"$directory/munge/key")
  export SLURM_CONF=$directory/slurm.conf
  slurm_write_configuration "$directory"
  munged --foreground --key-file="$directory/munge/key" --socket="$directory/munge/munge.socket" \
    --pid-file="$directory/munge/munged.pid" --log-file="$directory/munge/munged.log" \
    --seed-file="$directory/munge/seed" 2>"$directory/munge/errors" &
  slurm_munged=$!
  until_true 20 munge --no-input --socket="$directory/munge/munge.socket"
  slurmctld -D >/dev/null 2>&1 &
  slurm_controller=$!
  until_true 20 slurm_controller_answers || { tail "$directory/slurmctld.log"; return 1; }
  slurmd -D >/dev/null 2>&1 &
  slurm_node=$!
  until_true 30 slurm_node_is idle || { tail "$directory/slurmd.log"; return 1; }
}

slurm_stop() {
  local pid
  # Jobs first: the process of a step outlives slurmd.
  if slurm_controller_answers; then
    scancel --full --state=RUNNING
    scancel --state=PENDING
    until_true 10 slurm_has_no_job
  fi
  for pid in ${slurm_node:-} ${slurm_controller:-} ${slurm_munged:-}; do
    kill "$pid" 2>/dev/null && wait "$pid"
  done
  return 0
}
