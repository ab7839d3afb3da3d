# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by scripts that make tenants: an issuer of tokens, whose keys are in $directory. A policy beside them names
# issuer.pem, the issuer, and the audience "holdfast".
# shellcheck disable=SC2154  # the caller has made the directory

# make_issuer: the pair of keys.
make_issuer() {
  openssl genpkey -algorithm ed25519 -out "$directory/issuer.key" 2>/dev/null &&
    openssl pkey -in "$directory/issuer.key" -pubout -out "$directory/issuer.pem"
}

# In the form that tokens have: base64url, without padding.
encode() { openssl base64 -A | tr '+/' '-_' | tr -d '='; }

# token ISSUER SUBJECT: prints a signed token of that tenant, for an hour.
token() {
  local claims="{\"iss\":\"$1\",\"aud\":\"holdfast\",\"sub\":\"$2\",\"exp\":$(($(date +%s) + 3600))}" signature
  printf '%s.%s' "$(printf '{"alg":"EdDSA"}' | encode)" "$(printf '%s' "$claims" | encode)" >"$directory/unsigned"
  signature=$(openssl pkeyutl -sign -rawin -inkey "$directory/issuer.key" -in "$directory/unsigned" | encode) || return 1
  printf '%s.%s' "$(cat "$directory/unsigned")" "$signature"
}
