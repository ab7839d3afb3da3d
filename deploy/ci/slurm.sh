#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Slurm plugin in a real cluster of one node, with a real daemon on the software device: a job gets a
# tenant of its own, and however the job ends nothing of it is left. Skipped where Slurm is not installed.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=deploy/ci/slurm_cluster.sh
. deploy/ci/slurm_cluster.sh
# shellcheck source=deploy/ci/check.sh
. deploy/ci/check.sh

reason=$(slurm_can_run) || { echo "skipped: $reason"; exit 0; }
bazel build --noshow_progress --ui_event_filters=-info //deploy/slurm:spank_holdfast.so //server:holdfastd \
  //client/cli:holdfast //client/examples:saxpy //core/software:libholdfast_software.so

directory=$(mktemp -d /tmp/holdfast-slurm-XXXXXX)
chmod 755 "$directory"
address=unix:$directory/holdfast.sock
user=nobody
output=$directory/output

# Jobs' users need no way into the tree.
install_programs() {
  mkdir -p "$directory/bin" "$directory/out"
  chmod 777 "$directory/out"
  cp bazel-bin/deploy/slurm/spank_holdfast.so bazel-bin/server/holdfastd bazel-bin/client/cli/holdfast \
    bazel-bin/client/examples/saxpy bazel-bin/core/software/libholdfast_software.so "$directory/bin"
  # The command line as the plugin calls it: it says that a device is in quarantine while the test wants that.
  cat >"$directory/bin/holdfast-for-slurm" <<CLI
#!/bin/sh
if [ "\$1" = devices ] && [ -e $directory/quarantine ]; then
  echo '{"devices": [{"ordinal": 0, "health": {"state": "quarantined", "reason": "its probe hung"}}]}'
else
  exec $directory/bin/holdfast "\$@"
fi
CLI
  # A job that holds a session until it is killed.
  cat >"$directory/bin/spin.cu" <<'CUDA'
__global__ void spin(volatile unsigned* data) { while (data[0] == 0) data[1] += 1; }
CUDA
  printf '#!/bin/sh\nexec %s run %s --kernel spin --grid 1 --block 1 scratch:268435456\n' \
    "$directory/bin/holdfast" "$directory/bin/spin.cu" >"$directory/bin/hold"
  chmod 755 "$directory"/bin/*
  echo "required $directory/bin/spank_holdfast.so cli=$directory/bin/holdfast-for-slurm address=$address" \
    "directory=$directory/jobs accounting=$directory/accounting gres=holdfast_mem" >"$directory/plugstack.conf"
}

start_daemon() {
  "$directory/bin/holdfastd" --device=cpu --listen="$address" --socket-mode=0666 \
    --policy=deploy/slurm/policy.toml --runtime-dir="$directory/run" --cache-directory="$directory/cache" \
    >"$directory/holdfastd.log" 2>&1 &
  daemon=$!
  until_true 30 "$directory/bin/holdfast" devices --address="$address"
}

stop_all() {
  slurm_stop
  kill "$daemon" || true
  wait "$daemon" || true
  rm -rf "$directory"
}

as_user() { runuser -u "$user" -- "$@"; }
# submit OPTION... COMMAND: prints the job's number.
submit() {
  as_user sbatch --parsable --chdir=/tmp --output="$directory/out/%j" --gres=holdfast_mem:1 --holdfast \
    "${@:1:$#-1}" --wrap "${*: -1}"
}
job_is() { scontrol --oneliner show job "$1" | grep -q " JobState=$2 "; }
job_is_over() { ! scontrol --oneliner show job "$1" | grep -qE ' JobState=(PENDING|RUNNING|COMPLETING) '; }
tenants() { "$directory/bin/holdfast" tenants ls --json --address="$address"; }
has_tenant() { tenants | grep -q "\"slurm-$1\""; }
sessions() { "$directory/bin/holdfast" sessions --json --address="$address" | grep -o '"session_id"' | wc -l; }
holds_a_session() { [ "$(sessions)" -ge "${1:-1}" ]; }

# Everything of a job is gone: its tenant, its sessions, its token.
nobody_holds_a_session() { [ "$(sessions)" -eq 0 ]; }
nothing_is_left_of() {
  until_true 20 job_is_over "$1" && until_true 20 eval "! has_tenant $1" && until_true 20 nobody_holds_a_session &&
    [ ! -e "$directory/jobs/$1" ] && grep "\"job\": $1, " "$directory/accounting"
}

environment_of_a_job() {
  as_user srun --chdir=/tmp --gres=holdfast_mem:1 --holdfast=weight=2 sh -c "
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
  [ "$(stat --format=%a:%U "$directory/jobs/$1")" = "400:$user" ] && ! runuser -u daemon -- cat "$directory/jobs/$1"
}

# Each ends a running job in its own way.
by_itself() { job=$(submit "$directory/bin/saxpy --n=65536; exit 3"); }
start_holding() {  # TIME
  job=$(submit --time="$1" "$directory/bin/hold")
  until_true 30 holds_a_session && has_tenant "$job" && token_is_private "$job"
}
by_scancel() { start_holding 10 && as_user scancel "$job"; }
by_requeue() {
  start_holding 10 && scontrol requeue "$job" && until_true 20 job_is "$job" PENDING &&
    until_true 20 eval "! has_tenant $job" && as_user scancel "$job"
}
# Its processes live on: only the end of the tenant ends their session.
by_death_of_its_stepd() {
  start_holding 10
  kill -KILL "$(pgrep --full "^slurmstepd: \[$job\.batch\]")"
  as_user scancel "$job"
}

comment_of() { scontrol show job "$1" | grep 'AdminComment=holdfast: peak memory'; }

node_with_a_device_in_quarantine_is_drained() {
  touch "$directory/quarantine"
  job=$(submit true)
  until_true 20 slurm_node_is drain && scontrol show node | grep 'Reason=Holdfast: device 0 is in quarantine: its probe hung'
  as_user scancel "$job"
  rm "$directory/quarantine"
  scontrol update nodename="$(hostname -s)" state=resume
  until_true 20 slurm_node_is idle
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
  scontrol update jobid="$timed_out" EndTime=now
  check "a job over its time is ended" until_true 60 job_is "$timed_out" TIMEOUT
  check "  and nothing of it is left" nothing_is_left_of "$timed_out"
  check "a node with a device in quarantine is drained" node_with_a_device_in_quarantine_is_drained
  check "and serves when it is resumed" environment_of_a_job
}

install_programs
start_daemon
trap stop_all EXIT
slurm_start "$directory"
main
[ "$failures" -eq 0 ]
