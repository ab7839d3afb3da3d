# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A private Slurm cluster of several nodes, each with a host name, a network, /run and /tmp of its own: namespaces of
# this machine, on a network that reaches nothing else. munged, slurmctld and whoever submits jobs are on the machine
# `login`. Everything is in one directory, which every user has to be able to enter, and not below /tmp. Sourced.
#
#   slurm_can_run || ...              says why not
#   slurm_begin_in_namespaces SCRIPT  starts the script once more, as on the machine `login`
#   slurm_start DIRECTORY NODE...     then srun, sbatch, ... ; what DIRECTORY/plugstack.conf has is loaded
#   slurm_on NODE COMMAND...          runs a command on a node, from its root folder
#   slurm_stop

slurm_network=10.213.7
declare -A slurm_machines=() slurm_daemons=()

slurm_can_run() {
  local program
  [ "$(id -u)" -eq 0 ] || { echo "slurmd runs jobs of other users for root only"; return 1; }
  for program in munged slurmctld slurmd srun ip nsenter; do
    command -v $program >/dev/null || { echo "$program is missing"; return 1; }
  done
  [ -f /usr/include/slurm/spank.h ] || { echo "libslurm-dev is missing"; return 1; }
  unshare --net --mount --uts ip link add name a type veth peer name b ||
    { echo "this machine makes no network for a namespace"; return 1; }
}

slurm_is_in_namespaces() { [ -n "${SLURM_IN_NAMESPACES:-}" ]; }
slurm_begin_in_namespaces() {
  slurm_is_in_namespaces && return
  SLURM_IN_NAMESPACES=1 exec unshare --net --mount --uts -- "$BASH" "$1"
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

# With `&`, $! is the command's process.
slurm_exec_on() { exec nsenter --target "${slurm_machines[$1]}" --mount --net --uts -- "${@:2}"; }
slurm_on() { (slurm_exec_on "$@"); }

# A node has more processors than the machine, so that jobs wait for nothing but what they ask for.
slurm_write_configuration() {  # DIRECTORY NODE...
  local directory=$1 number=0 node
  cat >"$directory/slurm.conf" <<CONF
ClusterName=holdfast
SlurmctldHost=login($slurm_network.254)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$directory/munge/munge.socket
CredType=cred/munge
StateSaveLocation=$directory/state
SlurmdSpoolDir=$directory/spool/%n
SlurmctldPidFile=$directory/slurmctld.pid
SlurmdPidFile=$directory/slurmd-%n.pid
SlurmctldLogFile=$directory/slurmctld.log
SlurmdLogFile=$directory/slurmd-%n.log
SlurmdParameters=config_overrides
PrologFlags=Alloc
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
PartitionName=all Nodes=ALL Default=YES MaxTime=10 State=UP
CONF
  printf '127.0.0.1 localhost\n%s.254 login\n' "$slurm_network" >"$directory/hosts"
  for node in "${@:2}"; do
    number=$((number + 1))
    echo "$slurm_network.$number $node" >>"$directory/hosts"
    echo "NodeName=$node CPUs=16 RealMemory=1024 Gres=holdfast_mem:16" >>"$directory/slurm.conf"
  done
  echo "Name=holdfast_mem Count=16 Flags=CountOnly" >"$directory/gres.conf"
}

# This machine is `login` from now on.
slurm_make_network() {  # DIRECTORY
  hostname login
  mount --bind "$1/hosts" /etc/hosts
  ip link set lo up
  ip link add name cluster type bridge
  ip address add "$slurm_network.254/24" dev cluster
  ip link set cluster up
}

# A process that does nothing keeps the namespaces.
slurm_make_machine() {  # NODE
  local address
  address=$(awk -v name="$1" '$2 == name { print $1 }' /etc/hosts)
  unshare --net --mount --uts -- sleep infinity &
  slurm_machines[$1]=$!
  until_true 10 grep -qx sleep "/proc/$!/comm"
  ip link add name "$1" type veth peer name eth0 netns "${slurm_machines[$1]}"
  ip link set "$1" master cluster up
  slurm_on "$1" sh -ec "
    hostname $1
    ip link set lo up
    ip address add $address/24 dev eth0
    ip link set eth0 up
    for folder in /run /tmp /dev/shm; do mount -t tmpfs -o mode=1777 $1 \$folder; done"
}

# Clients of a controller that is gone try again for half a minute: ask only while it lives.
slurm_controller_answers() { kill -0 "$slurm_controller" 2>/dev/null && scontrol ping | grep -q UP; }
slurm_has_no_job() { [ -z "$(squeue --noheader)" ]; }
slurm_node_is() { [[ $(sinfo --noheader --nodes="$1" --format=%t) == "$2"* ]]; }

slurm_start_munged() {  # DIRECTORY
  (umask 077 && head -c 128 /dev/urandom >"$1/munge/key")
  munged --foreground --key-file="$1/munge/key" --socket="$1/munge/munge.socket" --pid-file="$1/munge/munged.pid" \
    --log-file="$1/munge/munged.log" --seed-file="$1/munge/seed" 2>"$1/munge/errors" &
  slurm_munged=$!
  until_true 20 munge --no-input --socket="$1/munge/munge.socket"
}

slurm_start() {  # DIRECTORY NODE...
  local directory=$1 node
  shift
  mkdir -p "$directory/munge" "$directory/state" "${@/#/$directory/spool/}"
  chmod 755 "$directory" "$directory/munge"
  export SLURM_CONF=$directory/slurm.conf
  slurm_write_configuration "$directory" "$@"
  slurm_make_network "$directory"
  slurm_start_munged "$directory"
  slurmctld -D >/dev/null 2>&1 &
  slurm_controller=$!
  until_true 20 slurm_controller_answers || { tail "$directory/slurmctld.log"; return 1; }
  for node in "$@"; do
    slurm_make_machine "$node"
    slurm_exec_on "$node" slurmd -D >/dev/null 2>&1 &
    slurm_daemons[$node]=$!
  done
  for node in "$@"; do
    until_true 30 slurm_node_is "$node" idle || { tail "$directory/slurmd-$node.log"; return 1; }
  done
}

slurm_stop() {
  local pid
  # Jobs first: the process of a step outlives slurmd.
  if slurm_controller_answers; then
    scancel --full --state=RUNNING
    scancel --state=PENDING
    until_true 10 slurm_has_no_job || true
  fi
  for pid in "${slurm_daemons[@]}" ${slurm_controller:-} ${slurm_munged:-} "${slurm_machines[@]}"; do
    kill "$pid" 2>/dev/null || true
    wait "$pid" || true
  done
}
