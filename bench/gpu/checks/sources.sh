# shellcheck shell=bash disable=SC2154  # run_all and collect set what the parts share
# The state of the sources, in a clone or in a folder that bench/gpu/collect has made from one.

# commit_of_sources: prints the short hash of the commit, followed by + if files differ from it.
commit_of_sources() {
  local commit
  if [[ -f $root/commit.txt ]]; then
    cat "$root/commit.txt"
  elif commit=$(git -C "$root" rev-parse --short HEAD 2>/dev/null); then
    [[ -z $(git -C "$root" status --porcelain -- . ':!bench/gpu/results') ]] || commit+=+
    echo "$commit"
  else
    echo unknown
  fi
}

# hashes_of_sources: prints `SHA256  PATH` for each file of the clone, without files that builds and runs leave there.
hashes_of_sources() {
  if [[ -f $root/sources.txt ]]; then
    cat "$root/sources.txt"
  else
    (cd "$root" && find . \( -path ./.git -o -path ./.cache -o -path './build*' -o -path './gpu_*' -o -path ./bench/gpu/results \
      -o -name __pycache__ \) -prune -o -type f -printf '%P\0' | sort -z | xargs -0 sha256sum)
  fi
}
