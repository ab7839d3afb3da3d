#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks the RPM packages: two runs make the same bytes; the packages say what they need and are; they are installed,
# run, upgraded and erased in a root that has only what RHEL 9 has in its base: no gRPC, no Abseil, no Protocol Buffers.
# Where a container can be booted, systemd starts and ends the service as the packages' scripts say. The root's glibc,
# rpm and systemd are this machine's: nothing here is RHEL or Fedora.
#
# Usage: rpm.sh [DEBS RPMS]     what deploy/package.sh and deploy/rpm/package.sh have made; by default it calls both
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=deploy/ci/arguments.sh
. deploy/ci/arguments.sh
take_help "$@"
[ $# -eq 0 ] || [[ $# -eq 2 && -d $1 && -d $2 ]] || refuse "it takes two folders, or nothing"
# shellcheck source=deploy/ci/machine.sh
. deploy/ci/machine.sh
# shellcheck source=deploy/ci/check.sh
. deploy/ci/check.sh

[ "$(id -u)" -eq 0 ] || { echo "skipped: only root can install packages into a root of their own"; exit 0; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
output=$folder/output
system=$folder/system  # the root
database=/var/lib/rpm  # of rpm; Debian's would be below the home directory

if [ $# -eq 0 ]; then
  deploy/package.sh "$folder/debs"
  deploy/rpm/package.sh "$folder/debs" "$folder/rpms"
  set -- "$folder/debs" "$folder/rpms"
fi
debs=$(realpath "$1")
packages=$(realpath "$2")

# ---- What the packages say.

query() { rpm --query --package "$@"; }

are_the_same_bytes_again() {
  local time
  time=$(query --queryformat '%{BUILDTIME}' "$packages"/holdfastd-*.rpm)
  (
    umask 027
    export SOURCE_DATE_EPOCH=$time TZ=Asia/Tokyo LC_ALL=C HOME=/nowhere
    exec deploy/rpm/package.sh "$debs" "$folder/again"
  ) && diff --recursive --exclude=repodata "$packages" "$folder/again"
}

# The packages neither require nor provide a library that they carry, least of all a CUDA driver.
keep_private_libraries_to_themselves() {
  local libraries relations
  libraries=$(query --list "$packages"/*.rpm | sed -nE 's|^/usr/lib/holdfast/(.*/)?([^/]*\.so[.0-9]*)$|\2(|p' | sort -u)
  relations=$(query --requires --provides "$packages"/*.rpm)
  grep -qx 'libcuda.so.1(' <<<"$libraries" && grep -qx 'libgrpc.so.29(' <<<"$libraries" &&
    grep -F 'bundled(grpc) = ' <<<"$relations" && ! grep -F "$libraries" <<<"$relations"
}

mark_the_configuration() {
  local marked
  marked=$(query --queryformat '[%{FILEFLAGS:fflags} %{FILENAMES}\n]' "$packages"/*.rpm | grep '^c')
  [ "$marked" = "cn /etc/holdfast/holdfastd.toml" ]
}

have_manuals_completion_and_licences() {
  local files path
  files=$(query --list "$packages"/*.rpm)
  for path in man/man1/holdfast.1.gz man/man1/holdfast-run.1.gz man/man8/holdfastd.8.gz man/man5/holdfastd.toml.5.gz \
    bash-completion/completions/holdfast zsh/site-functions/_holdfast fish/vendor_completions.d/holdfast.fish \
    licenses/holdfastd/LICENSE licenses/holdfast-libs/grpc doc/holdfastd/examples/holdfast.rules.yml; do
    grep -qx "/usr/share/$path" <<<"$files" || { echo "$path is missing"; return 1; }
  done
  ! grep -E 'x86_64-linux-gnu|vendor-completions|lintian|dist-packages' <<<"$files"
}

the_bill_names_what_they_carry() {
  local source
  deploy/sbom.py 0 >"$folder/bill"
  while read -r source; do
    grep -F "\"value\": \"$source " "$folder/bill" || { echo "deploy/sbom.py does not name $source"; return 1; }
  done < <(query --provides "$packages"/*.rpm | sed -n 's/^bundled(\(.*\)) = .*/\1/p')
}

# ---- A root.

lay_folders() {  # FOLDER
  mkdir -p "$1"/{dev,etc,mnt,proc,root,run,tmp} "$1"/var/{cache/ldconfig,lib,tmp} \
    "$1"/usr/{bin,sbin,include,lib64/pkgconfig,local/cuda} \
    "$1"/usr/lib/{sysusers.d,systemd/system,systemd/system-preset} \
    "$1"/usr/share/{doc,licenses,man/man{1,5,8}} \
    "$1"/usr/share/{bash-completion/completions,fish/vendor_completions.d,zsh/site-functions}
  chmod 1777 "$1/tmp"
  for name in bin sbin lib lib64; do ln -s "usr/$name" "$1/$name"; done
}

with_what_they_need() { printf '%s\n' "$@" && ldd "$@" | grep -o '/[^ :]*\.so[^ :]*'; }

# The programs that packages' scripts and the checks call, and the libraries that every RHEL 9 has, with all that these
# need, laid into a folder.
lay_system() {  # FOLDER
  local name path program programs=() libraries=()
  lay_folders "$1"
  for program in sh bash cat chmod id ls mkdir mkfifo rm sleep ldconfig pkg-config systemctl systemd-sysusers umount; do
    programs+=("$(PATH=/usr/bin:/usr/sbin command -v "$program")")
  done
  for name in libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1 libstdc++.so.6 libgcc_s.so.1 libssl.so.3 \
    libcrypto.so.3 libz.so.1 libcares.so.2; do
    libraries+=("/usr/lib/x86_64-linux-gnu/$name")
  done
  while read -r path; do
    install -D "$path" "$1$(realpath "${path%/*}")/${path##*/}"
  done < <(with_what_they_need "${programs[@]}" "${libraries[@]}" | sort -u)
  echo 'root:x:0:0:root:/root:/bin/sh' >"$1/etc/passwd"
  echo 'root:x:0:' >"$1/etc/group"
  # RHEL's and Fedora's loader has this folder built in, and their presets enable next to nothing.
  echo /usr/lib64 >"$1/etc/ld.so.conf"
  echo 'disable *' >"$1/usr/lib/systemd/system-preset/99-default-disable.preset"
}

# A package of all this, so that rpm knows what the root has; what it provides rpm finds out.
pack_system() {
  lay_system "$folder/laid"
  find "$folder/laid" -mindepth 1 \( -type d -printf '%%dir /%P\n' -o -printf '/%P\n' \) >"$folder/system.files"
  cat >"$folder/system.spec" <<SPEC
%global debug_package %{nil}
%global __os_install_post %{nil}
%global _build_id_links none
Name: system
Version: 1
Release: 1
Summary: What a RHEL has
License: none
Provides: /bin/sh rtld(GNU_HASH)
%description
As above.
%install
cp -a $folder/laid/. %{buildroot}
%files -f $folder/system.files
SPEC
  HOME=$folder rpmbuild -bb --define "_topdir $folder/top" --define "_rpmdir $folder/repository" \
    "$folder/system.spec" &&
    cp "$folder"/repository/x86_64/system-*.rpm "$folder/system.rpm"
}

in_database() { rpm --root "$system" --dbpath "$database" "$@"; }

# Runs a command in the root, with the toolkit where there is one. Executors mount files anew, which is forbidden behind
# chroot.
in_system() {
  # shellcheck disable=SC2016
  unshare --mount --pid --fork --kill-child --propagation=private bash -euc '
    root=$1 cuda=$2
    shift 2
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    [ ! -d "$cuda" ] || mount --bind "$(realpath "$cuda")" "$root/usr/local/cuda"
    cd "$root"
    pivot_root . mnt
    exec -c /usr/bin/bash -euc "
      export HOME=/root PATH=/usr/bin:/usr/sbin
      umount --lazy /mnt
      exec \"\$@\"" - "$@"
  ' - "$system" "${CUDA_HOME:-/usr/local/cuda}" "$@"
}

install_system() {
  pack_system && mkdir "$system" && in_database --install "$folder/system.rpm" || return 1
  # The first makes the files of accounts that a system has, the second their backups.
  in_system systemd-sysusers - <<<'u first - "First"' &&
    in_system systemd-sysusers - <<<'u second - "Second"' &&
    in_system ldconfig &&
    list_system >"$folder/before"
}
list_system() {
  find "$system" \( -path "$system/var/lib/rpm" -o -path "$system/var/cache/ldconfig" \) -prune -o -printf '%P\n' |
    LC_ALL=C sort
}

install_packages() {  # FILE...: each dependency has to be there
  local names=()
  in_database --upgrade "$@" && in_system ldconfig || return 1
  mapfile -t names < <(in_database --query --all 'holdfast*')
  in_database --verify --noconfig "${names[@]}"
}

# Without the carried ones: these are found by the rpath of what needs them.
programs_and_libraries() {
  in_database --query --all 'holdfast*' --queryformat '[%{FILEMODES:perms} %{FILENAMES}\n]' |
    sed -n 's/^-..x[^ ]* //p' | grep -vE '^/usr/lib/holdfast/lib[^/]*\.so\.'
}
find_every_library() {
  local path listing missing=0 looked_at=0
  while read -r path; do
    head -c 4 "$system$path" | grep -q ELF || continue
    looked_at=$((looked_at + 1))
    listing=$(in_system /lib64/ld-linux-x86-64.so.2 --list "$path") || missing=1
    ! grep "not found" <<<"$listing" || missing=1
  done < <(programs_and_libraries)
  [ "$looked_at" -gt 0 ] && [ "$missing" -eq 0 ]
}

has_user_and_units() {
  grep '^holdfast:' "$system/etc/passwd" && grep '^holdfast:' "$system/etc/group" &&
    [ "$(in_system systemctl is-enabled holdfastd.socket)" = disabled ]
}

programs_run() {
  in_system holdfast --version && in_system holdfastd --version &&
    in_system holdfastd --check-config --config=/etc/holdfast/holdfastd.toml
}

first_program_runs() {
  cat >"$system/tmp/scale.cu" <<'CUDA'
template <typename T>
__global__ void scale(T* data, T factor, size_t n) {
  size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] *= factor;
}
CUDA
  in_system holdfast --address=embedded:device=cpu run /tmp/scale.cu --kernel 'scale<float>' --grid 1 --block 8 \
    --print inout:arange:f32[8]:/tmp/y.npy f32:3 u64:8 | tee "$folder/printed"
  grep -E '\b0\b.*\b3\b.*\b6\b.*\b21\b' "$folder/printed"
}

# The linker finds what libholdfast.so needs by its rpath, as the loader does.
c_program_runs() {
  local flags=() source=$system/usr/share/doc/holdfast-devel/examples/saxpy.c
  read -ra flags < <(PKG_CONFIG_LIBDIR=$system/usr/lib64/pkgconfig PKG_CONFIG_SYSROOT_DIR=$system \
    pkg-config --cflags --libs holdfast)
  gcc -o "$system/tmp/saxpy" "$source" "${flags[@]}" -Wl,--verbose >"$folder/linked" || return 1
  grep -E 'found libgrpc\+\+\.so.* at .*/lib/holdfast/' "$folder/linked" || { grep found "$folder/linked"; return 1; }
  in_system /tmp/saxpy embedded:device=cpu
}

# The library needs carried ones.
cuda_program_runs() {
  cat >"$folder/count.c" <<'C'
#include <dlfcn.h>
int main(void) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  int (*init)(unsigned) = driver ? (int (*)(unsigned))dlsym(driver, "cuInit") : 0;
  int (*count)(int*) = driver ? (int (*)(int*))dlsym(driver, "cuDeviceGetCount") : 0;
  int devices = 0;
  return !(init && count && init(0) == 0 && count(&devices) == 0 && devices == 1);
}
C
  gcc -o "$system/tmp/count" "$folder/count.c" || return 1
  ! in_system /tmp/count || { echo "there is a driver without Holdfast"; return 1; }
  # shellcheck disable=SC2016
  in_system holdfast exec --device=cpu -- /tmp/count &&
    in_system sh -c 'LD_LIBRARY_PATH=$(holdfast cuda-path --cpu) /tmp/count'
}
metrics_are_served() {
  # shellcheck disable=SC2016
  in_system bash -euc 'mkdir -m 700 /tmp/daemon && cd /tmp/daemon && mkfifo ready
    holdfastd --device=cpu --listen=unix:/tmp/daemon/socket --runtime-dir=/tmp/daemon --metrics-address=127.0.0.1:0 \
      --ready-fd=3 3>ready &
    while read -r line && [ "${line#*http://}" = "$line" ]; do :; done <ready
    port=${line##*:}
    exec 3<>"/dev/tcp/127.0.0.1/${port%%/*}"
    printf "GET /metrics HTTP/1.0\r\n\r\n" >&3
    while read -r line; do case "$line" in holdfast_build_info*) echo "$line"; exit 0 ;; esac; done <&3
    exit 1'
}

# The packages as they would be next, with another default of the configuration.
pack_next() {
  cp -r "$debs" "$folder/next_debs" &&
    dpkg-deb --raw-extract "$debs"/holdfastd_*.deb "$folder/next_holdfastd" &&
    echo '# the next default' >>"$folder/next_holdfastd/etc/holdfast/holdfastd.toml" &&
    dpkg-deb --build -Znone "$folder/next_holdfastd" "$(echo "$folder"/next_debs/holdfastd_*.deb)" &&
    deploy/rpm/package.sh "$folder/next_debs" "$folder/next" --define "release 2"
}

upgrade_keeps_the_configuration() {
  local file=$system/etc/holdfast/holdfastd.toml
  echo '# mine' >>"$file"
  cp "$file" "$folder/mine.toml"
  install_packages "$folder"/next/*.rpm &&
    [ "$(in_database --query holdfastd).rpm" = "$(basename "$folder"/next/holdfastd-*.rpm)" ] &&
    cmp "$file" "$folder/mine.toml" &&
    grep 'the next default' "$file.rpmnew" && rm "$file.rpmnew"
}

# All but the changed configuration, as with every package of these distributions; the user stays, too.
nothing_is_left() {
  local names=()
  mapfile -t names < <(in_database --query --all 'holdfast*')
  in_database --erase "${names[@]}" && cmp "$system/etc/holdfast/holdfastd.toml.rpmsave" "$folder/mine.toml" || return 1
  # What the checks have made themselves.
  rm -r "$system/etc/holdfast" "$system"/tmp/* "$system/var/cache/holdfast"
  list_system | diff "$folder/before" -
}

# dnf with the root's package in a repository, and a root of its own.
dnf_in() {  # ROOT ARGUMENT...
  mkdir -p "$1" && createrepo_c --quiet "$folder/repository" &&
    dnf --quiet --assumeyes --installroot="$1" --releasever=9 --nogpgcheck --setopt=reposdir=/nowhere \
      --repofrompath="system,file://$folder/repository" "${@:2}"
}
dnf_installs_files() {
  (cd "$packages" && dnf_in "$folder/of_files" install ./holdfast*.rpm) && chroot "$folder/of_files" holdfast --version
}
dnf_installs_from_the_repository() {
  dnf_in "$folder/of_repository" --repofrompath="holdfast,file://$packages" install holdfastd &&
    chroot "$folder/of_repository" holdfastd --version &&
    # holdfastd recommends it.
    chroot "$folder/of_repository" holdfast --version
}

# ---- A machine that systemd boots.

property() { in_machine systemctl show --property="$1" --value "${2:-holdfastd.service}"; }
has_property() { [ "$(property "$1" "${3:-}")" = "$2" ]; }
in_machine_rpm() { in_machine rpm --dbpath "$database" "$@"; }

machine_installs() {
  # What the package of the root stands for is there already. systemd's own package reloads it where there is one.
  in_machine_rpm --install --justdb /packages/system.rpm &&
    in_machine_rpm --install /packages/rpms/holdfast{d,-cpu,-cli,-libs}-[0-9]*.rpm &&
    in_machine systemctl daemon-reload
}
machine_upgrades() {
  local daemon
  daemon=$(property MainPID)
  [ "$daemon" -gt 0 ] && in_machine_rpm --upgrade /packages/next/holdfast{d,-cpu,-cli,-libs}-[0-9]*.rpm &&
    has_property MainPID "$daemon"
}
machine_erases() {
  local daemon
  daemon=$(property MainPID)
  in_machine_rpm --erase holdfastd && in_machine systemctl daemon-reload &&
    ! in_machine kill -0 "$daemon" &&
    has_property LoadState not-found && has_property LoadState not-found holdfastd.socket &&
    ! in_machine sh -c 'ls /etc/systemd/system/*.wants/holdfastd.*'
}

test_machine() {
  [ "$packages" = "$folder/rpms" ] || cp -r "$packages" "$folder/rpms"
  machine_boot "$folder" || return 1
  trap 'machine_halt; rm -rf "$folder"' EXIT
  in_machine sh -c 'mkdir -p /etc/systemd/system-preset && echo "disable *" >/etc/systemd/system-preset/00-test.preset'
  check "rpm installs the service" machine_installs
  check "it is not started" has_property ActiveState inactive
  check "systemctl enable --now" in_machine systemctl enable --now holdfastd.socket holdfastd.service
  check "the service is active" until_true 60 has_property ActiveState active
  check "it is not root's" in_machine pgrep --uid holdfast --full '^/usr/bin/holdfastd'
  check "holdfast devices" in_machine holdfast devices
  check "an upgrade leaves the running daemon alone" machine_upgrades
  check "to erase it ends it" machine_erases
}

check "twice the same bytes" are_the_same_bytes_again
check "private libraries are neither wanted nor offered" keep_private_libraries_to_themselves
check "the bill of materials names what they carry" the_bill_names_what_they_carry
check "the configuration is the user's" mark_the_configuration
check "manuals, completion, licences" have_manuals_completion_and_licences
if command -v rpmlint >/dev/null; then
  check "rpmlint" rpmlint --strict --config deploy/rpm/rpmlint.toml "$packages"/*.rpm
fi
check "no symbol is too new" deploy/ci/glibc.sh "$packages"/*.rpm
check "a root is made" install_system
check "rpm installs the daemon alone" install_packages "$packages"/holdfastd-*.rpm "$packages"/holdfast-cpu-*.rpm
check "the loader finds every library" find_every_library
check "user and units are there" has_user_and_units
check "metrics" metrics_are_served
check "rpm installs the other packages" install_packages "$packages"/holdfast-{cli,devel,kubernetes,libs}-*.rpm
check "the loader finds every library" find_every_library
check "programs run" programs_run
check "the first program" first_program_runs
check "a C program compiles and runs" c_program_runs
check "an unchanged CUDA program" cuda_program_runs
check "the next release is packed" pack_next
check "an upgrade keeps a changed configuration" upgrade_keeps_the_configuration
check "to erase them leaves nothing" nothing_is_left
if command -v dnf >/dev/null && command -v createrepo_c >/dev/null; then
  check "dnf install ./holdfast*.rpm" dnf_installs_files
  if [ -d "$packages/repodata" ]; then check "dnf installs from the repository" dnf_installs_from_the_repository; fi
fi
if reason=$(machine_can_boot); then
  test_machine || failures=$((failures + 1))
else
  echo "skipped: the service: $reason"
fi
[ "$failures" -eq 0 ]
