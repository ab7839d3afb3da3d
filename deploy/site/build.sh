#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the documentation as a site.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=deploy/setup/prepare.sh
. deploy/setup/prepare.sh

packages=(python3-sphinx python3-myst-parser furo python3-sphinx-autoapi doxygen python3-breathe protobuf-compiler
  python3-protobuf)

usage() {
  cat <<TEXT
Usage: deploy/site/build.sh [--check] [FOLDER]

Builds the documentation as a site into FOLDER (./site), which it replaces. A warning is an error, and so is a link that
leads nowhere. Installs nothing; what it needs:

  apt-get install ${packages[*]}

The manual pages are made of what the built programs say; \$HOLDFAST_BUILT is where they are (bazel-bin). Without them,
the site says how to get them.

  --check   needs the programs, runs the scripts of every page in chromium if that is installed, and leaves nothing
            behind but FOLDER, if one is named
TEXT
}

check="" folder=""
for argument in "$@"; do
  case "$argument" in
    --check) check=yes ;;
    -h | --help) usage; exit 0 ;;
    -*) usage >&2; die "unknown option: $argument" ;;
    *) folder=$argument ;;
  esac
done
missing=$(missing_packages "${packages[@]}" | tr '\n' ' ')
[ -z "$missing" ] || die "packages are missing: apt-get install $missing"

# The folder of the programs, as Bazel lays them out.
built=${HOLDFAST_BUILT:-bazel-bin}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tree=$scratch/tree
python=/usr/bin/python3
export PYTHONDONTWRITEBYTECODE=1

# Sphinx reads a copy of the tree, to which the generators add pages.
copy_tree() {
  mkdir "$tree"
  git ls-files -z --cached --others --exclude-standard | tar --null --files-from=- -c | tar -x -C "$tree"
  cp -r "$tree/deploy/site/pages/." "$tree"
  mkdir "$tree/generated"
}

make_headers() {
  git ls-files '*.h' '*.inc' | sed 's/.*/&=&/' >"$scratch/headers"
  $python deploy/development/header_tree.py "$tree/generated/include" "@$scratch/headers"
  (
    cd "$tree"
    {
      cat deploy/site/Doxyfile
      echo "INPUT = generated/include client/c/holdfast.h"
      echo "INCLUDE_PATH = generated/include"
      echo "STRIP_FROM_PATH = generated/include"
      echo "INPUT_FILTER = \"$python deploy/site/header_comments.py\""
      echo "OUTPUT_DIRECTORY = generated"
    } | doxygen -
    $python deploy/site/header_pages.py . generated/include reference
  )
}

make_protocol() {
  protoc -Iproto --include_source_info --descriptor_set_out="$scratch/protocol" proto/holdfast/v1/*.proto
  $python deploy/site/protocol_pages.py "$scratch/protocol" "$tree/reference/protocol"
}

# manual SECTION PROGRAM [--configuration]: its page, of its --help, or that of its configuration file.
manual() {
  local name page
  name=$(basename "$2")${3:+.toml}
  page=$tree/reference/manual/$name.md
  mkdir -p "$(dirname "$page")"
  if [ -x "$built/$2" ]; then
    $python deploy/debian/describe.py markdown --section="$1" "$built/$2" "${@:3}" >"$page"
  elif [ -n "$check" ]; then
    die "$built/$2 is not there: bazel build //$(dirname "$2"):$(basename "$2")"
  else
    printf '# %s(%s)\n\nThis page is made of the program, which was not built: bazel build //%s:%s\n' \
      "$name" "$1" "$(dirname "$2")" "$(basename "$2")" >"$page"
  fi
}

# Debian's Furo looks for normalize.css on a web server of Debian's, and its colours are not dark for a reader who wants
# them to be.
mend_theme() {
  local css=$scratch/site/_static/styles/furo.css
  {
    cat /usr/share/javascript/normalize.css/normalize.css
    grep -v '^@import url(/javascript/' "$css"
    echo '@media (prefers-color-scheme: dark) {'
    awk '/^  body\[data-theme="dark"\] \{$/ { inside = 1 } inside { print } inside && / }$/ { exit }' "$css" |
      sed 's/"dark"/"auto"/'
    echo '}'
  } >"$scratch/furo.css"
  mv "$scratch/furo.css" "$css"
}

# Debian's furo.js is a module that imports Gumshoe, but pages load it as a plain script. Gumshoe, as a plain script, is
# a global name.
mend_scripts() {
  local scripts=$scratch/site/_static/scripts
  {
    cat "$scripts/gumshoe-patched.js"
    echo '(() => {'
    grep -v '^import Gumshoe from ' "$scripts/furo.js"
    echo '})();'
  } >"$scratch/furo.js"
  mv "$scratch/furo.js" "$scripts/furo.js"
  rm "$scripts/gumshoe-patched.js"
}

copy_tree
make_headers
make_protocol
manual 1 client/cli/holdfast
manual 8 server/holdfastd
manual 5 server/holdfastd --configuration
manual 8 deploy/kubernetes/holdfast-device-plugin
$python deploy/site/python_api.py client/python/holdfast "$tree/generated/python"
sphinx-build -q -W --keep-going -j 2 -b html -c "$tree/deploy/site" -d "$scratch/doctrees" "$tree" "$scratch/site"
mend_theme
mend_scripts
rm -f "$scratch/site/.buildinfo" "$scratch/site/objects.inv"
$python deploy/site/links.py "$scratch/site"
[ -z "$check" ] || $python deploy/site/script_errors.py "$scratch/site"
if [ -n "$folder" ] || [ -z "$check" ]; then
  folder=${folder:-site}
  rm -rf "$folder"
  mkdir -p "$(dirname "$folder")"
  cp -r "$scratch/site" "$folder"
  say "$folder/index.html"
fi
