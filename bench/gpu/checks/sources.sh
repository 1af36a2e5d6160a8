# shellcheck shell=bash disable=SC2154  # run_all and collect set what the parts share
# The state of the sources, in a clone or in a folder that bench/gpu/collect has made of one.

# commit_of_sources: the short hash of the commit, with a + behind it if files differ from it.
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

# hashes_of_sources: a line `SHA256  PATH` for each file of the clone that git does not ignore.
hashes_of_sources() {
  if [[ -f $root/sources.txt ]]; then
    cat "$root/sources.txt"
  else
    (cd "$root" && git ls-files -co --exclude-standard -z -- . ':!bench/gpu/results' 2>/dev/null | sort -zu |
      xargs -0 sha256sum 2>/dev/null) || true
  fi
}
