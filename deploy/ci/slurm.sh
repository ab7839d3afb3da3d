#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Slurm plugin in a real cluster of two nodes, each with a real daemon on the software device: a job gets a tenant
# of its own on each of its nodes, and however the job ends nothing of it is left. Ranks of MPI, one on each node, use
# the daemons of their nodes, as HOSTS.md says. Skipped where Slurm is not installed.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=deploy/ci/arguments.sh
. deploy/ci/arguments.sh
no_arguments "$@"
# shellcheck source=deploy/ci/slurm_cluster.sh
. deploy/ci/slurm_cluster.sh
# shellcheck source=deploy/ci/check.sh
. deploy/ci/check.sh

if ! slurm_is_in_namespaces; then
  reason=$(slurm_can_run 2>&1) || { echo "skipped: $reason"; exit 0; }
  bazel build --noshow_progress --ui_event_filters=-info //deploy/slurm:spank_holdfast.so //server:holdfastd \
    //client/cli:holdfast //client/examples:saxpy //client/python:client.whl //core/software:libholdfast_software.so
fi
slurm_begin_in_namespaces deploy/ci/slurm.sh

directory=$(mktemp -d /var/tmp/holdfast-slurm-XXXXXX)
chmod 755 "$directory"
nodes=(node1 node2)
two_nodes=(--nodes=2 --nodelist="${nodes[0]},${nodes[1]}" --ntasks-per-node=1)
address=unix:/run/holdfast/holdfast.sock
user=nobody
output=$directory/output
declare -A daemons=()

# Jobs' users need no way into the tree.
install_programs() {
  mkdir -p "$directory/bin" "$directory/out"
  chmod 777 "$directory/out"
  cp bazel-bin/deploy/slurm/spank_holdfast.so bazel-bin/server/holdfastd bazel-bin/client/cli/holdfast \
    bazel-bin/client/examples/saxpy bazel-bin/core/software/libholdfast_software.so \
    client/python/examples/ranks.py deploy/slurm/policy.toml "$directory/bin"
  /usr/bin/python3 -m zipfile -e bazel-bin/client/python/client.whl "$directory/site"
  # The command line as the plugin calls it: it says that a node's device is in quarantine while the test wants that.
  cat >"$directory/bin/holdfast-for-slurm" <<CLI
#!/bin/sh
if [ "\$1" = devices ] && [ -e $directory/quarantine-\$(hostname) ]; then
  echo '{"devices": [{"ordinal": 0, "health": {"state": "quarantined", "reason": "its probe hung"}}]}'
else
  exec $directory/bin/holdfast "\$@"
fi
CLI
  # Ranks of MPI that have sessions until they are killed.
  cat >"$directory/bin/endless_ranks.py" <<'PYTHON'
import holdfast
from mpi4py import MPI

session = holdfast.connect()
while True:
    MPI.COMM_WORLD.Barrier()
PYTHON
  # A job that holds a session until it is killed.
  cat >"$directory/bin/spin.cu" <<'CUDA'
__global__ void spin(volatile unsigned* data) { while (data[0] == 0) data[1] += 1; }
CUDA
  printf '#!/bin/sh\nexec %s run %s --kernel spin --grid 1 --block 1 scratch:268435456\n' \
    "$directory/bin/holdfast" "$directory/bin/spin.cu" >"$directory/bin/hold"
  chmod 755 "$directory"/bin/*
  echo "required $directory/bin/spank_holdfast.so cli=$directory/bin/holdfast-for-slurm gres=holdfast_mem" \
    "accounting=$directory/accounting" >"$directory/plugstack.conf"
}

holdfast_on() { slurm_on "$1" "$directory/bin/holdfast" "${@:2}" --address="$address"; }
start_daemon() {  # NODE
  slurm_on "$1" mkdir /run/holdfast
  slurm_exec_on "$1" "$directory/bin/holdfastd" --device=cpu --listen="$address" --socket-mode=0666 \
    --policy="$directory/bin/policy.toml" --runtime-dir=/run/holdfast --cache-directory="$directory/cache-$1" \
    >"$directory/holdfastd-$1.log" 2>&1 &
  daemons[$1]=$!
  until_true 30 holdfast_on "$1" devices
}

stop_all() {
  local pid
  slurm_stop
  for pid in "${daemons[@]}"; do
    kill "$pid" || true
    wait "$pid" || true
  done
  rm -rf "$directory"
}

as_user() { runuser -u "$user" -- "$@"; }
# submit OPTION... COMMAND: prints the job's number. It is one of node1 if no option says otherwise.
submit() {
  as_user sbatch --parsable --chdir=/tmp --output="$directory/out/%j" --gres=holdfast_mem:1 --holdfast \
    --nodelist=node1 "${@:1:$#-1}" --wrap "${*: -1}"
}
job_is() { scontrol --oneliner show job "$1" | grep -q " JobState=$2 "; }
job_is_over() { ! scontrol --oneliner show job "$1" | grep -qE ' JobState=(PENDING|RUNNING|COMPLETING) '; }
has_tenant() { holdfast_on "$2" tenants ls --json | grep -q "\"slurm-$1\""; }  # JOB NODE
has_no_tenant() { ! has_tenant "$@"; }
sessions() { holdfast_on "$1" sessions --json | grep -o '"session_id"' | wc -l; }  # NODE
holds_a_session() { [ "$(sessions "$1")" -eq 1 ]; }
holds_no_session() { [ "$(sessions "$1")" -eq 0 ]; }

# Everything of a job is gone: its tenant, its sessions, its token.
nothing_is_left_of() {  # JOB [NODE]...
  local job=$1 node
  shift
  until_true 20 job_is_over "$job" || return 1
  for node in "${@:-node1}"; do
    until_true 20 has_no_tenant "$job" "$node" && until_true 20 holds_no_session "$node" &&
      slurm_on "$node" [ ! -e "/run/holdfast-slurm/$job" ] &&
      grep "\"job\": $job, \"node\": \"$node\", " "$directory/accounting" || return 1
  done
}

environment_of_a_job() {
  as_user srun --chdir=/tmp --nodelist=node1 --gres=holdfast_mem:1 --holdfast=weight=2 sh -c "
    [ \"\$HOLDFAST_ADDRESS\" = $address ] && [ -n \"\$HOLDFAST_TOKEN\" ] && exec $directory/bin/saxpy --n=65536"
}
is_refused() {  # PATTERN COMMAND...
  ! as_user "${@:2}" >"$directory/refusal" 2>&1 && grep -E "$1" "$directory/refusal"
}
quota_holds() {
  is_refused "resource exhausted" timeout 60 srun --chdir=/tmp --gres=holdfast_mem:1 --holdfast "$directory/bin/holdfast" run \
    "$directory/bin/spin.cu" --kernel spin --grid 1 --block 1 scratch:1342177280
}
# Else a job would drop its quota with its token.
refused_without_its_token() {
  is_refused "permission denied" srun --chdir=/tmp --gres=holdfast_mem:1 --holdfast \
    env --unset=HOLDFAST_TOKEN "$directory/bin/holdfast" devices
}
token_is_private() {
  local file=/run/holdfast-slurm/$1
  [ "$(slurm_on node1 stat --format=%a:%U "$file")" = "400:$user" ] && ! slurm_on node1 runuser -u daemon -- cat "$file"
}

# Each ends a running job in its own way.
by_itself() { job=$(submit "$directory/bin/saxpy --n=65536; exit 3"); }
start_holding() {  # TIME
  job=$(submit --time="$1" "$directory/bin/hold")
  until_true 30 holds_a_session node1 && has_tenant "$job" node1 && token_is_private "$job"
}
by_scancel() { start_holding 10 && as_user scancel "$job"; }
by_requeue() {
  start_holding 10 && scontrol requeue "$job" && until_true 20 job_is "$job" PENDING &&
    until_true 20 has_no_tenant "$job" node1 && as_user scancel "$job"
}
# Its processes live on: only the end of the tenant ends their session.
by_death_of_its_stepd() {
  start_holding 10
  kill -KILL "$(pgrep --full "^slurmstepd: \[$job\.batch\]")"
  as_user scancel "$job"
}

comment_of() { scontrol show job "$1" | grep 'AdminComment=holdfast: peak memory .* on node1 *$'; }

# node2 alone is drained, and nothing of the job is left on node1.
node_with_a_device_in_quarantine_is_drained() {
  touch "$directory/quarantine-node2"
  job=$(submit "${two_nodes[@]}" true)
  until_true 20 slurm_node_is node2 drain && until_true 20 slurm_node_is node1 idle &&
    scontrol show node node2 | grep 'Reason=Holdfast: device 0 is in quarantine: its probe hung' &&
    has_no_tenant "$job" node1 && until_true 20 is_held "$job"
  as_user scancel "$job"
}
is_held() { scontrol --oneliner show job "$1" | grep 'JobState=PENDING Reason=launch_failed_requeued_held'; }
resumed_node_serves() {
  rm "$directory/quarantine-node2"
  scontrol update nodename=node2 state=resume
  job=$(submit "${two_nodes[@]}" "srun $directory/bin/saxpy --n=65536")
  until_true 30 job_is "$job" COMPLETED && nothing_is_left_of "$job" "${nodes[@]}"
}

mpi_can_run() {
  # Slurm opens the library by the name that libpmix-dev has.
  /usr/bin/python3 -c 'import mpi4py, numpy' && compgen -G "/usr/lib/*/pmix2/lib/libpmix.so"
}
has_fitted() { cat "$1" && [ "$(cat "$1")" = "2 ranks: y = 3.0 x -1.0" ]; }  # FILE
# As HOSTS.md has it.
ranks_fit_a_line() {  # OPTION...
  : >"$directory/accounting"
  as_user timeout 60 srun --chdir=/tmp --nodes=2 --ntasks-per-node=1 --gres=holdfast_mem:8 --holdfast --mpi=pmix \
    python3 "$directory/bin/ranks.py" "$@" >"$directory/line" 2>&1
  has_fitted "$directory/line"
}
mpirun_in_a_batch_job_does_the_same() {
  : >"$directory/accounting"
  job=$(submit "${two_nodes[@]}" "mpirun python3 $directory/bin/ranks.py")
  until_true 60 job_is "$job" COMPLETED && has_fitted "$directory/out/$job"
}
# Two kernels in each of 60 steps.
each_daemon_ran_the_kernels_of_one_rank() {
  local node
  for node in "${nodes[@]}"; do
    until_true 10 grep "\"node\": \"$node\", .* \"launches\": 120, " "$directory/accounting" || return 1
  done
  cat "$directory/accounting"
  [ "$(wc -l <"$directory/accounting")" -eq 2 ]
}

# A job that holds a session of each daemon.
start_holding_two_nodes() {  # COMMAND...
  local node
  job=$(submit "${two_nodes[@]}" --gres=holdfast_mem:12 "srun $*")
  for node in "${nodes[@]}"; do until_true 30 holds_a_session "$node" || return 1; done
}
each_daemon_serves_its_own_node() {
  local node
  for node in "${nodes[@]}"; do
    holdfast_on "$node" sessions --json | grep "\"host\": \"$node\".*\"tenant\": \"slurm-$job\"" || return 1
    holdfast_on "$node" tenants ls --json |
      grep "\"slurm-$job\"[^{}]*\"quota\": {[^{}]*\"device_bytes\": $((12 << 30))," || return 1
  done
}
waits_for_resources() { squeue --noheader --jobs="$1" --format=%t:%r | grep -x PD:Resources; }
job_for_more_than_is_left_waits() {
  waiting=$(submit "${two_nodes[@]}" --gres=holdfast_mem:8 true)
  until_true 20 waits_for_resources "$waiting"
}
session_and_daemon_of() {  # NODE
  kill -0 "${daemons[$1]}" &&
    holdfast_on "$1" sessions --json | grep -oE '"(session_id|pid|executor_pid|epoch|state)": "?[a-z0-9-]+'
}
kill_the_rank_of() {  # NODE
  kill -KILL "$(holdfast_on "$1" sessions --json | grep -oP '"client": [^}]*"pid": \K[0-9]+')"
}
# A kernel without an end keeps the memory until the daemon ends it.
has_nothing() {  # JOB NODE
  holds_no_session "$2" &&
    holdfast_on "$2" tenants ls --json | grep "\"slurm-$1\"[^{}]*\"sessions\": 0, \"device_bytes\": 0, "
}
killed_process_leaves_nothing_and_the_other_goes_on() {
  local before
  before=$(session_and_daemon_of node1)
  kill_the_rank_of node2
  until_true 20 has_nothing "$job" node2 &&
    [ "$(session_and_daemon_of node1)" = "$before" ] && kill -0 "${daemons[node2]}"
}

main() {
  local way timed_out
  check "a job gets address and token, and runs SAXPY" environment_of_a_job
  check "a malformed option is refused before anything is submitted" is_refused "weight takes a number" \
    srun --holdfast=weight=0 --chdir=/tmp true
  check "Slurm counts device memory" is_refused "configuration is not available" \
    srun --gres=holdfast_mem:17 --holdfast --chdir=/tmp true
  check "a job without any is told so" is_refused "add --gres=holdfast_mem:GIB" srun --holdfast --chdir=/tmp true
  check "the daemon holds it to what Slurm has counted" quota_holds
  check "and refuses it without its token" refused_without_its_token
  for way in by_itself by_scancel by_requeue by_death_of_its_stepd; do
    check "a job that ends $way starts" $way
    check "  and nothing of it is left" nothing_is_left_of "$job"
    [ "$way" != by_itself ] || check "  and its comment says what it used" comment_of "$job"
  done
  pkill --uid "$user" --full "^$directory/bin/holdfast" || true
  # Slurm looks at limits every 30 s.
  check "a job over its time starts" start_holding 1
  timed_out=$job
  # Refused within the second of its start.
  until_true 10 scontrol update jobid="$timed_out" EndTime=now
  check "a job over its time is ended" until_true 60 job_is "$timed_out" TIMEOUT
  check "  and nothing of it is left" nothing_is_left_of "$timed_out"
  check "a node of two with a device in quarantine is drained" node_with_a_device_in_quarantine_is_drained
  check "and serves when it is resumed" resumed_node_serves
  check_two_nodes
  if mpi_can_run >/dev/null 2>&1; then
    check_ranks_of_mpi
  else
    echo "skipped: ranks of MPI: install openmpi-bin, python3-mpi4py and libpmix-dev"
  fi
}

check_two_nodes() {
  local waiting
  check "a job for more than a node of its two has is refused" is_refused "node configuration is not available" \
    srun --nodes=2 --gres=holdfast_mem:17 --holdfast --chdir=/tmp true
  check "a job holds a session on each of two nodes" start_holding_two_nodes "$directory/bin/hold"
  check "  each with the daemon of its node, which has its share as a limit" each_daemon_serves_its_own_node
  check "a job for more than is left of the nodes waits" job_for_more_than_is_left_waits
  check "a killed process leaves nothing, and that of the other node goes on" \
    killed_process_leaves_nothing_and_the_other_goes_on
  as_user scancel "$job"
  check "nothing is left of the job on either node" nothing_is_left_of "$job" "${nodes[@]}"
  check "the job that waited runs" until_true 30 job_is "$waiting" COMPLETED
}

check_ranks_of_mpi() {
  # Debian's mpi4py is for Debian's Python.
  export PYTHONPATH=$directory/site PATH=/usr/bin:$PATH
  check "two ranks of MPI on two nodes fit a line" ranks_fit_a_line
  check "  each with the daemon of its node" each_daemon_ran_the_kernels_of_one_rank
  check "they add up in mapped memory of their daemons" ranks_fit_a_line --mapped
  check "  each with the daemon of its node" each_daemon_ran_the_kernels_of_one_rank
  check "mpirun in a batch job does the same" mpirun_in_a_batch_job_does_the_same
  check "  each with the daemon of its node" each_daemon_ran_the_kernels_of_one_rank
  check "endless ranks start" start_holding_two_nodes --kill-on-bad-exit --mpi=pmix \
    python3 "$directory/bin/endless_ranks.py"
  check "one is killed" kill_the_rank_of node2
  check "the job ends, and nothing of it is left on either node" nothing_is_left_of "$job" "${nodes[@]}"
}

install_programs
trap stop_all EXIT
slurm_start "$directory" "${nodes[@]}"
for node in "${nodes[@]}"; do start_daemon "$node"; done
main
[ "$failures" -eq 0 ]
