#!/bin/sh
# Installs svc, a daemon and a command line that turn signed webhooks into agent workflows, brings it up
# to date, or takes it away again: `sh install.sh --help`. It needs no root, curl or wget, and one of
# ssh-keygen and openssl, with which it checks what it downloads.
#
# It is for any POSIX shell, and may come through a pipe: all of it is in functions, which the last line
# calls, so that half of it does nothing, and nothing in it reads the standard input.

# The address of the releases, and the public keys that sign them. They are part of a release
# (.ci/release): the sources have none, and whoever gives another address cannot bring keys along.
RELEASES_URL=''
SSH_KEY=''
P256_KEY=''

# Whose signature ssh-keygen finds in its list, and what it has to be for (.ci/sign).
SIGNER=svc-release

# What an archive and its content take at once, in KiB, and the oldest glibc that the program starts with.
SPACE=163840
GLIBC=2.27

usage() {
  cat <<'END'
Usage: sh install.sh [options]
       curl -fsSL ADDRESS/latest/download/install.sh | sh -s -- [options]

Installs the newest svc, or updates it.

  --prefix DIR      where to: DIR/bin/svc, DIR/share/... (default: ~/.local; /usr/local for root)
  --version V       this version, even if it is older than the installed one
  --from DIR        without a network: DIR has the archive, SHA256SUMS, and SHA256SUMS.sig or .p256
  --base-url URL    another address of the releases, which has latest/download/ and download/vX.Y.Z/
  --no-signature    install an unsigned release, or one that cannot be checked here
  --uninstall       remove what was installed, and keep the data
  --help            this text
END
}

say() {
  printf '%s\n' "$1"
}

fail() {
  printf 'install.sh: %s\n' "$1" >&2
  exit 1
}

wrong_usage() {
  printf 'install.sh: %s: see sh install.sh --help\n' "$1" >&2
  exit 2
}

has() {
  command -v "$1" >/dev/null 2>&1
}

# The command that installs a package here, such as `apt-get install openssl`.
how_to_get() {
  for manager in 'apt-get install' 'dnf install' 'yum install' 'zypper install' 'apk add' 'pacman -S' 'brew install'; do
    if has "${manager%% *}"; then
      say "$manager $1"
      return
    fi
  done
  say "install $1"
}

# A path as a shell takes it.
quoted() {
  case $1 in
    *[!A-Za-z0-9/._@%+=:,-]*) printf "'%s'\n" "$(printf '%s\n' "$1" | sed "s/'/'\\\\''/g")" ;;
    *) say "$1" ;;
  esac
}

# Whether version $1 comes before $2. Of what follows a hyphen only this counts: 1.0.0-rc.1 is before 1.0.0.
is_older() {
  left=${1%%-*}. right=${2%%-*}.
  while [ -n "$left" ] && [ -n "$right" ]; do
    one=${left%%.*} other=${right%%.*}
    left=${left#*.} right=${right#*.}
    case $one,$other in *[!0-9,]* | ,* | *,) return 1 ;; esac
    if [ "$one" -ne "$other" ]; then
      [ "$one" -lt "$other" ]
      return
    fi
  done
  case $1,$2 in
    *-*,*-*) return 1 ;;
    *-*,*) return 0 ;;
  esac
  return 1
}

# --- The environment -----------------------------------------------------------------------------

# What would change the programs that are called here: options for them, and functions in their place.
forget_environment() {
  for name in LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES; do
    eval "value=\${$name:-}"
    [ -z "$value" ] || fail "$name is set, so that other code runs in every program that checks the download: start it with env -u $name sh install.sh"
  done
  unset LD_LIBRARY_PATH DYLD_LIBRARY_PATH TAR_OPTIONS GZIP GREP_OPTIONS CDPATH IFS
  for name in cat chmod command cp curl dd df find getconf grep head id kill ldd ln mkdir mktemp mv openssl \
    printf read readlink rm rmdir sed sha256sum shasum sleep sort ssh-keygen sync sysctl tail tar tr uname wget; do
    unset -f "$name" 2>/dev/null || :
  done
  export LC_ALL=C # their messages are read
  umask 022       # others may use it, too
}

# --- Options -------------------------------------------------------------------------------------

read_options() {
  prefix='' wanted='' from='' base='' no_signature='' uninstall='' source_options=''
  while [ "$#" -gt 0 ]; do
    case $1 in
      --prefix=* | --version=* | --from=* | --base-url=*) option=${1%%=*} value=${1#*=} ;;
      --prefix | --version | --from | --base-url)
        [ "$#" -gt 1 ] || wrong_usage "$1 needs a value"
        option=$1 value=$2
        shift
        ;;
      --no-signature | --uninstall | --help | -h) option=$1 value=yes ;;
      *) wrong_usage "there is no option '$1'" ;;
    esac
    shift
    [ -n "$value" ] || wrong_usage "$option needs a value"
    case $option in
      --prefix | --uninstall | --help | -h) ;;
      *) source_options=$option ;;
    esac
    case $option in
      --prefix) prefix=$value ;;
      --version)
        wanted=${value#v}
        [ -n "$wanted" ] || wrong_usage "$option needs a value"
        ;;
      --from) from=$value ;;
      --base-url) base=$value ;;
      --no-signature) no_signature=yes ;;
      --uninstall) uninstall=yes ;;
      *)
        usage
        exit 0
        ;;
    esac
  done
  case $wanted in
    [!0-9]* | *[!0-9A-Za-z.+-]*) wrong_usage "--version takes a version, such as 0.2.0, and not '$wanted'" ;;
  esac
  case $base in
    '') ;;
    *[!A-Za-z0-9/._~:@%+=,?\&-]*) wrong_usage "--base-url has a character that no address has: '$base'" ;;
    http://?* | https://?*) ;;
    *) wrong_usage "--base-url takes an address that begins with https:// or http://, and not '$base'" ;;
  esac
  [ -z "$from" ] || [ -z "$base" ] || wrong_usage "--from and --base-url exclude each other"
  [ -z "$uninstall" ] || [ -z "$source_options" ] || wrong_usage "--uninstall does not go with $source_options"

  if [ -z "$prefix" ]; then
    if [ "$(id -u)" = 0 ]; then
      prefix=/usr/local
    else
      [ -n "${HOME:-}" ] || fail "HOME is not set, so say where to: --prefix DIR"
      prefix=$HOME/.local
    fi
  fi
  case $prefix in
    *'
'*) wrong_usage "--prefix has a line break" ;;
    /*) ;;
    *) prefix=$(pwd)/$prefix ;;
  esac
  while [ "${prefix%/}" != "$prefix" ]; do prefix=${prefix%/}; done # "" is the root
  while [ "${base%/}" != "$base" ]; do base=${base%/}; done
  bin=$prefix/bin
  own=$prefix/share/svc
}

# --- The machine ---------------------------------------------------------------------------------

# Sets `platform`, as in the name of an archive. What a program of svc cannot run on is said before
# anything is downloaded.
find_platform() {
  system=$(uname -s) machine=$(uname -m)
  case $machine in
    x86_64 | amd64) processor=x64 ;;
    aarch64 | arm64) processor=arm64 ;;
    *) processor='' ;;
  esac
  case $system in
    Linux) platform=linux-$processor ;;
    Darwin)
      # A shell that runs translated on Apple's processors is told the other one.
      if [ "$(sysctl -n sysctl.proc_translated 2>/dev/null)" = 1 ]; then processor=arm64; fi
      platform=macos-$processor
      ;;
    MINGW* | MSYS* | CYGWIN*) fail "svc does not run on Windows itself: run install.sh in WSL 2" ;;
    *) fail "there is no svc for $system: only for Linux and macOS" ;;
  esac
  [ -n "$processor" ] || fail "there is no svc for $machine: only for x86-64 and arm64, both with 64 bits"
  [ "$system" = Linux ] || return 0
  [ "$(getconf LONG_BIT 2>/dev/null)" != 32 ] ||
    fail "this system has 32 bits, although its processor has 64, and svc needs one with 64"
  [ -L /proc/self/exe ] || fail "/proc is not mounted, and svc needs it: mount -t proc proc /proc"
  check_libc
}

check_libc() {
  glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null) || glibc=''
  if [ -z "$glibc" ] && has ldd; then
    said=$(ldd --version 2>&1 </dev/null) || : # musl's has no such option
    case $said in
      *musl*) fail "this system's C library is musl, as on Alpine, and svc needs glibc $GLIBC or newer: use Debian, Ubuntu, Fedora, or a container of one" ;;
      *GLIBC* | *'GNU libc'*) glibc=$(say "$said" | sed -n '1s/.* //p') ;;
    esac
  fi
  glibc=${glibc#glibc }
  if is_older "${glibc:-$GLIBC}" "$GLIBC"; then
    fail "this system has glibc $glibc, and svc needs $GLIBC or newer, as in Debian 10, Ubuntu 18.04 and RHEL 8"
  fi
}

# Sets `verifier`: what the signature is checked with.
find_verifier() {
  verifier=''
  [ -z "$no_signature" ] || return 0
  [ -n "$SSH_KEY$P256_KEY" ] ||
    fail "this copy is not of a release and has no keys to check one with: take the install.sh of a release, or give --no-signature"
  # Before OpenSSH 8.1 it has no -Y, and for a user without a name, as in some containers, it does nothing.
  if [ -n "$SSH_KEY" ] && has ssh-keygen && ssh-keygen -Y verify 2>&1 </dev/null | grep -q 'arguments for verify'; then
    verifier=ssh-keygen
  elif [ -n "$P256_KEY" ] && has openssl; then
    verifier=openssl
  else
    if [ -n "$P256_KEY" ]; then
      tool=openssl how=$(how_to_get openssl)
    else
      tool='ssh-keygen of OpenSSH 8.1 or newer' how='install it'
    fi
    fail "$tool is not installed, and checking who made the download needs it: $how, or give --no-signature"
  fi
}

# Sets `summer`: what makes a SHA-256.
find_tools() {
  for tool in tar gzip find mktemp; do
    case $tool in
      find) package=findutils ;;
      mktemp) package=coreutils ;;
      *) package=$tool ;;
    esac
    has "$tool" || fail "$tool is not installed, and unpacking needs it: $(how_to_get "$package")"
  done
  summer=''
  for tool in sha256sum shasum openssl; do
    if [ -z "$summer" ] && has "$tool"; then summer=$tool; fi
  done
  [ -n "$summer" ] || fail "neither sha256sum nor shasum nor openssl is installed to check the download: $(how_to_get openssl)"
  if [ -z "$from" ]; then
    base=${base:-$RELEASES_URL}
    [ -n "$base" ] || fail "this copy is not of a release and has no address to download from: give --base-url URL, or --from DIR"
    has curl || has wget || fail "neither curl nor wget is installed to download with: $(how_to_get curl)"
  else
    [ -d "$from" ] || fail "--from is '$from', which is not a directory"
    from=$(cd -- "$from" && pwd) || fail "cannot read the directory of --from"
  fi
}

# --- The place -----------------------------------------------------------------------------------

# Refuses a place with a svc that came another way. Sets `installed`, the version that is there, if any.
check_place() {
  channel='' installed=''
  if [ -r "$own/channel" ]; then read -r channel <"$own/channel" || :; fi
  case $channel in
    install.sh) ;;
    '') if [ -e "$bin/svc" ] || [ -L "$bin/svc" ]; then
      [ -f "$own/manifest" ] || fail "install.sh did not put $bin/svc there: move it away, or give --prefix DIR"
    fi ;;
    deb) fail "the svc in ${prefix:-/} is of a .deb package: install the newer package, or remove it first (apt-get remove svc)" ;;
    rpm) fail "the svc in ${prefix:-/} is of an .rpm package: install the newer package, or remove it first (dnf remove svc)" ;;
    homebrew) fail "the svc in ${prefix:-/} is Homebrew's: update or remove it there (brew upgrade svc, brew uninstall svc)" ;;
    aur) fail "the svc in ${prefix:-/} is pacman's: update or remove it there (pacman -R svc-bin)" ;;
    *) fail "the svc in ${prefix:-/} came by '$channel': update or remove it that way, or give --prefix DIR" ;;
  esac
  if [ -x "$bin/svc" ] && [ -f "$bin/svc" ]; then
    installed=$("$bin/svc" version 2>/dev/null </dev/null) || installed=''
    installed=${installed#svc } installed=${installed%% *}
    case $installed in *[!0-9A-Za-z.+-]*) installed='' ;; esac
  fi
}

# Makes a directory, and those above it. `made` has those that were not there, the innermost first.
make_directory() {
  [ ! -d "$1" ] || return 0
  if [ -n "${1%/*}" ]; then make_directory "${1%/*}"; fi
  why=$(mkdir "$1" 2>&1) || [ -d "$1" ] || cannot_write "$why"
  made="$1
$made"
}

cannot_write() {
  if [ "$(id -u)" = 0 ]; then or=''; else or=', or run it as root'; fi
  fail "cannot write to ${prefix:-/} (${1##*: }): give another place with --prefix DIR$or"
}

is_alive() {
  case $1 in '' | *[!0-9]*) return 1 ;; esac
  [ -d "/proc/$1" ] || kill -0 "$1" 2>/dev/null
}

# Removes the stages of those that were killed.
remove_left_stages() {
  for left in "$bin"/.svc-install.*; do
    pid=${left##*/.svc-install.}
    if [ -d "$left" ] && ! is_alive "${pid%%.*}"; then rm -rf "$left"; fi
  done
}

# Makes `stage`, where everything is downloaded, unpacked and tried. It is beside the program, because
# only within a file system a file takes the place of another at once.
make_stage() {
  make_directory "$bin"
  remove_left_stages
  why=$(mktemp -d "$bin/.svc-install.$$.XXXXXX" 2>&1) || cannot_write "$why"
  stage=$why

  free=$(df -Pk "$stage" 2>/dev/null | tail -n 1) || free=''
  # The figure before the per cent: the name before all of them may have blanks.
  free=$(say "$free" | sed -n 's/.* \([0-9][0-9]*\)  *[0-9]*% .*/\1/p')
  if [ "${free:-$SPACE}" -lt "$SPACE" ]; then
    fail "${prefix:-/} has $((free / 1024)) MB free, and installing svc takes $((SPACE / 1024)): make room, or give another place with --prefix DIR"
  fi

  write "$stage/try" '#!/bin/sh'
  chmod 755 "$stage/try"
  "$stage/try" 2>/dev/null ||
    fail "programs in ${prefix:-/} may not be run (its file system is mounted noexec): give another place with --prefix DIR"
}

# Writes a text into a file of the stage.
write() {
  say "$2" 2>/dev/null >"$1" || fail "cannot write to ${prefix:-/}: make room, or give another place with --prefix DIR"
}

# shellcheck disable=SC2317,SC2329 # called by the trap
clean_up() {
  [ -z "$stage" ] || rm -rf "$stage"
  [ -z "$lock" ] || rm -f "$lock"
  [ -n "$changed" ] || [ -z "$made" ] || printf '%s' "$made" | while IFS= read -r directory; do
    rmdir "$directory" 2>/dev/null || :
  done
}

# --- The download --------------------------------------------------------------------------------

# Gets a file of the release into the stage: get NAME ADDRESS.
get() {
  if [ -n "$from" ]; then
    place=$from
    [ -f "$from/$1" ] || fail "there is no $1 in $from"
    why=$(cp "$from/$1" "$stage/$1" 2>&1) || fail "cannot copy $1: $(last_line "$why")"
  else
    place=$2
    download "$2/$1" "$stage/$1"
  fi
  case $(dd if="$stage/$1" bs=512 count=1 2>/dev/null | tr -cd '[:print:]' | tr '[:upper:]' '[:lower:]') in
    *'<html'* | *'<!doctype'*) fail "$place/$1 is a web page and not the file: a proxy, or a page to log in, answers in its place" ;;
  esac
}

download() {
  if has curl; then
    set -- "$1" "$2" curl -fsSL --globoff --connect-timeout 30 --speed-limit 1 --speed-time 60 --retry 2 --retry-delay 1
    case $1 in https:*) set -- "$@" --proto '=https' ;; esac
    set -- "$@" -o "$2" "$1"
  else
    set -- "$1" "$2" wget -O "$2"
    # Not busybox: one of Debian's crashes when it is given a time.
    case $(wget --version 2>/dev/null </dev/null) in *GNU*) set -- "$@" --timeout=60 --tries=3 ;; esac
    set -- "$@" "$1"
  fi
  url=$1
  shift 2
  why=$("$@" 2>&1 </dev/null) || fail "cannot download $url: $(last_line "$why")"
}

# What a program said last, in one line. It goes through no file: the disk may be full.
last_line() {
  line=$(say "$1" | sed '/^ *$/d; /^Giving up/d; /: Exiting with failure/d' | tail -n 1)
  case $line in *'(23)'* | *'Wrote only'*) line="$line: is the disk full?" ;; esac # as curl and tar say it
  say "${line:-it ended without a reason}"
}

# Gets the sums, checks who signed them, and sets `version`, `archive` and `sum`.
get_sums() {
  if [ -n "$wanted" ]; then address=$base/download/v$wanted; else address=$base/latest/download; fi
  get SHA256SUMS "$address"
  if [ ! -s "$stage/SHA256SUMS" ] || grep -Evq '^[0-9a-f]{64} [ *][A-Za-z0-9._+/-]+$' "$stage/SHA256SUMS"; then
    fail "$place/SHA256SUMS is not a list of sums: something else answers in its place, or only half of it came"
  fi
  case $verifier in
    ssh-keygen)
      get SHA256SUMS.sig "$address"
      write "$stage/signers" "$SIGNER $SSH_KEY"
      why=$(ssh-keygen -Y verify -f "$stage/signers" -I "$SIGNER" -n svc-release -s "$stage/SHA256SUMS.sig" \
        2>&1 <"$stage/SHA256SUMS") || bad_signature
      ;;
    openssl)
      get SHA256SUMS.p256 "$address"
      write "$stage/key.pem" "$P256_KEY"
      why=$(openssl dgst -sha256 -verify "$stage/key.pem" -signature "$stage/SHA256SUMS.p256" \
        "$stage/SHA256SUMS" 2>&1 </dev/null) || bad_signature
      ;;
    *) say "The signature is NOT checked (--no-signature)." ;;
  esac

  version='' sum=''
  while read -r hex name; do
    name=${name#\*}
    case $name in
      */*) ;; # not where archives lie: npm/svc-1.2.3.tgz
      svc-*-"$platform".tar.gz)
        [ -z "$sum" ] || fail "$place/SHA256SUMS has two archives for $platform"
        archive=$name sum=$hex version=${name#svc-} version=${version%-"$platform".tar.gz}
        ;;
    esac
  done <"$stage/SHA256SUMS"
  [ -n "$sum" ] || fail "the release at $place has no svc for $platform"
  [ -z "$wanted" ] || [ "$wanted" = "$version" ] ||
    fail "the release at $place is $version and not $wanted"
  if [ -z "$wanted" ] && [ -n "$installed" ] && is_older "$version" "$installed"; then
    fail "svc $installed is installed, and the release at $place is older: --version $version installs it all the same"
  fi
}

bad_signature() {
  fail "the signature of $place/SHA256SUMS is not of svc's release key ($verifier: $(last_line "$why")): do not install it; the download was damaged, or someone changed it"
}

# The SHA-256 of a file, in hex. Only the bytes are handed over: of some names sha256sum writes more.
sum_of() {
  case $summer in
    sha256sum) out=$(sha256sum <"$1") || return 1 ;;
    shasum) out=$(shasum -a 256 <"$1") || return 1 ;;
    openssl) out=$(openssl dgst -sha256 <"$1") || return 1 ;;
  esac
  out=${out##*= }
  say "${out%% *}"
}

# Gets the archive and unpacks it: `tree` is what comes below the prefix.
get_program() {
  say "Getting svc $version for $platform from ${from:-$base} ..."
  get "$archive" "$base/download/v$version"
  is=$(sum_of "$stage/$archive") || fail "cannot read $archive with $summer"
  [ "$is" = "$sum" ] ||
    fail "$place/$archive is not what was released (SHA-256 $is, not $sum): only half of it came, or it was changed: try again"
  why=$(cd -- "$stage" && tar -xzf "$archive" 2>&1 </dev/null) || fail "cannot unpack $archive: $(last_line "$why")"
  rm -f "$stage/$archive"
  tree=$stage/svc-$version-$platform
  [ -f "$tree/bin/svc" ] || fail "$archive has no program in it"
}

# Runs the program where it was unpacked. What stops it here would stop it at its place.
try_program() {
  status=0
  said=$({ "$tree/bin/svc" version; } 2>&1 </dev/null) || status=$? # with what the shell says of a signal
  case $status,$said in
    0,*"svc $version "* | 0,*"svc $version") return ;;
    0,*) why="it says '$said'" ;;
    *GLIBC_*"not found"*) why="this system's glibc is older than $GLIBC" ;;
    *"/proc mounted"* | *"/proc/self/exe"*) why="/proc is not mounted" ;;
    *"shared librar"*libgcc_s*) why="libgcc is missing (package libgcc-s1 of Debian, libgcc of Fedora)" ;;
    *"xec format error"* | *"yntax error"*) why="it is for another processor" ;; # some shells read it as a script
    126,*) why="programs there may not be run" ;;
    127,*) why="this system has no loader of glibc, as on Alpine and NixOS" ;;
    132,*) why="this processor lacks an instruction that it needs" ;;
    137,*) why="it was killed, as when memory is short" ;;
    *) why="exit code $status" ;;
  esac
  said=$(say "$said" | sed '/^ *$/d' | head -n 1)
  fail "svc $version does not run here: $why${said:+ ($said)}"
}

# --- The change ----------------------------------------------------------------------------------

# Waits for another install.sh that is moving its files, for a minute at most.
take_lock() {
  waited=0
  # A link holds the number of a process from the moment it is there.
  until ln -s "$$" "$own/.lock" 2>/dev/null; do
    holder=$(readlink "$own/.lock") || holder=''
    if [ -n "$holder" ] && ! is_alive "$holder"; then
      # It was killed. Another one that waits may have seen that, too, and been faster.
      if mv "$own/.lock" "$stage/lock" 2>/dev/null && [ "$(readlink "$stage/lock")" != "$holder" ]; then
        mv "$stage/lock" "$own/.lock"
      fi
      rm -f "$stage/lock"
    fi
    [ "$waited" -lt 60 ] || fail "another install.sh (process $holder) is changing ${prefix:-/}: try again, or remove $own/.lock"
    waited=$((waited + 1))
    [ "$waited" -lt 2 ] || sleep 1
  done
  lock=$own/.lock
}

# Moves everything to its place. Wherever that stops, `bin/svc` is whole, the old one or the new one,
# and the manifest names everything there is, so that the next run goes on and --uninstall finds it.
place_files() {
  mkdir -p "$tree/share/svc"
  write "$tree/share/svc/channel" install.sh
  if [ -n "${base:-$RELEASES_URL}" ]; then write "$tree/share/svc/releases-url" "${base:-$RELEASES_URL}"; fi
  (cd -- "$tree" && find . ! -type d) | sed 's|^\./||' | grep -v '^bin/svc$' | sort >"$stage/files"
  say bin/svc >>"$stage/files"

  # Everything that can fail comes first.
  while IFS= read -r file; do
    make_directory "$prefix/${file%/*}"
    [ -w "$prefix/${file%/*}" ] || cannot_write "$prefix/${file%/*}: no right to write"
    [ ! -d "$prefix/$file" ] || fail "$prefix/$file is a directory: move it away, or give another place with --prefix DIR"
  done <"$stage/files"
  take_lock
  if [ -f "$own/manifest" ]; then cp "$own/manifest" "$stage/before"; else : >"$stage/before"; fi
  {
    cat "$stage/files"
    say share/svc/manifest
    grep '/$' "$stage/before" || :
    say "$made" | while IFS= read -r directory; do
      case $directory in
        "$prefix") say / ;;
        "$prefix"/*) say "${directory#"$prefix"/}/" ;;
      esac
    done
  } | sort -u >"$stage/manifest"
  sort -u "$stage/before" "$stage/manifest" >"$stage/both"
  sync "$tree/bin/svc" 2>/dev/null || : # so that a loss of power leaves no empty program either

  trap '' HUP INT TERM # it is a moment
  changed=yes
  mv -f "$stage/both" "$own/manifest" || fail "cannot write $own/manifest"
  while IFS= read -r file; do
    mv -f "$tree/$file" "$prefix/$file" || fail "cannot move $file to its place"
  done <"$stage/files"
  grep -Fxv -f "$stage/manifest" "$stage/before" | remove_files
  mv -f "$stage/manifest" "$own/manifest" || fail "cannot write $own/manifest"
}

# Removes the files and the empty directories whose names come in, relative to the prefix.
remove_files() {
  sort -r | while IFS= read -r file; do # a directory after what is in it
    case /$file in
      / | */../* | */..) ;;
      */) rmdir "$prefix/$file" 2>/dev/null || : ;;
      *) rm -f "$prefix/$file" || fail "cannot remove $prefix/$file" ;;
    esac
  done
}

# --- What comes next -----------------------------------------------------------------------------

# Sets `unit` to the service that starts the svc of this prefix, if there is one, and `restart` to what
# restarts it.
find_service() {
  unit='' restart="end 'svc daemon', and start it again"
  user=${XDG_CONFIG_HOME:-${HOME:-}/.config}/systemd/user/svcd.service
  agent=${HOME:-}/Library/LaunchAgents/svcd.plist
  for file in /etc/systemd/system/svcd.service "$user" "$agent" /Library/LaunchDaemons/svcd.plist; do
    if grep -Fq "$bin/svc" "$file" 2>/dev/null; then
      unit=$file
      case $file in
        "$user") restart='systemctl --user restart svcd' ;;
        "$agent") restart="launchctl kickstart -k gui/$(id -u)/svcd" ;;
        *.plist) restart='launchctl kickstart -k system/svcd' ;;
        *) restart='systemctl restart svcd' ;;
      esac
    fi
  done
}

say_what_comes_next() {
  found=$(command -v svc) || found=''
  case :${PATH:-}: in
    *:"$bin":*)
      [ "$found" = "$bin/svc" ] || [ -z "$found" ] || say "But 'svc' is $found here, which comes first on PATH."
      ;;
    *)
      say "Not on your PATH yet: put this line into ~/.profile, and run it here:"
      say "  export PATH=$(quoted "$bin"):\"\$PATH\""
      ;;
  esac
  if [ -n "$installed" ]; then
    find_service
    if [ "$installed" != "$version" ]; then
      say "The running daemon is still $installed: $restart."
    fi
    return
  fi
  say "Next:"
  say "  svc init               creates ~/.svc, which holds all data"
  say "  svc daemon             runs it here; or"
  say "  svc service install    as a service of this machine"
}

# --- Uninstall -----------------------------------------------------------------------------------

uninstall() {
  check_place
  [ -f "$own/manifest" ] || fail "there is no svc in ${prefix:-/} that install.sh put there: give its place with --prefix DIR"
  find_service
  [ -z "$unit" ] || fail "$unit starts this svc: first svc service uninstall"
  files=$(grep -v '/$' "$own/manifest") || files=''
  directories=$(grep '/$' "$own/manifest") || directories=''
  why=$(rm -f "$bin/svc" 2>&1) || fail "cannot remove it: $why"
  # The manifest goes last, so that the rest of one that was interrupted can be removed.
  say "$files" | grep -v '^share/svc/manifest$' | remove_files
  remove_left_stages
  rm -f "$own/.lock" "$own/manifest"
  say "$directories" | remove_files
  say "svc${installed:+ $installed} is removed from ${prefix:-/}."
  for data in "${SVC_DATA_DIR:-${HOME:-}/.svc}" /var/lib/svc; do
    if [ -d "$data" ]; then say "Its data stays: $data"; fi
  done
}

# -------------------------------------------------------------------------------------------------

main() {
  set -eu
  stage='' lock='' made='' changed=''
  forget_environment
  read_options "$@"
  if [ -n "$uninstall" ]; then
    uninstall
    exit 0
  fi
  trap clean_up EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
  find_platform
  find_verifier
  find_tools
  check_place
  make_stage
  get_sums
  get_program
  try_program
  place_files
  if [ -z "$installed" ]; then
    say "svc $version is installed: $bin/svc"
  elif [ "$installed" = "$version" ]; then
    say "svc $version is installed again: $bin/svc"
  else
    say "svc $installed -> $version: $bin/svc"
  fi
  say_what_comes_next
  exit 0
}

{ main "$@" </dev/null; }
