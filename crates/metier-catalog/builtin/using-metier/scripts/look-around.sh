#!/bin/sh
# Tests what a script can see and do where it runs. Prints one line per test and leaves no files behind.

case $0 in
*/*) skill=${0%/*}/.. ;;
*) skill=.. ;;
esac

say() {
    printf '%-24s%s\n' "$1" "$2"
}

# Prints whether a command succeeds.
try() {
    what=$1
    shift
    if "$@" 2>/dev/null; then say "$what" possible; else say "$what" refused; fi
}

# Each of these is a subshell, since a redirection that fails may end a shell.
can_read() (
    : <"$1"
)

can_write() (
    set -C
    : >"$1/.look-around.$$" && rm -f "$1/.look-around.$$"
)

# A file in a user's home directory. A home that is only part of another path does not count.
can_read_a_home() {
    own=${HOME-}
    # In a sandbox, HOME is the directory for temporary files.
    case $own in /tmp | "${TMPDIR-}") own= ;; esac
    top=/home
    for home in /root "$top"/* ${own:+"$own"}; do
        for file in "$home"/.[!.]* "$home"/*; do
            if [ -f "$file" ] && can_read "$file"; then return 0; fi
        done
    done
    return 1
}

# Sets `parent` and `session` to those of a process.
look_at() {
    IFS= read -r line <"/proc/$1/stat" || return 1
    # Its name can contain any character, and ends with the last bracket.
    line=${line##*) }
    parent=$(echo "$line" | cut -d ' ' -f 2)
    session=$(echo "$line" | cut -d ' ' -f 4)
}

# A process that neither started this one nor belongs to its session.
can_see_processes() (
    look_at "$$" || exit 1
    mine=$session
    above=" $$ "
    while [ "$parent" -gt 0 ]; do
        above="$above$parent "
        look_at "$parent" || break
    done
    for process in /proc/[0-9]*; do
        number=${process#/proc/}
        case $above in *" $number "*) continue ;; esac
        # It may have ended already.
        if [ -r "$process/stat" ] && look_at "$number" && [ "$session" != "$mine" ]; then exit 0; fi
    done
    exit 1
)

# A route to another machine.
can_see_a_network() (
    while read -r card rest; do
        case $card in Iface | lo) ;; *) exit 0 ;; esac
    done </proc/net/route
    while read -r line; do
        case $line in *[!a-z0-9]lo) ;; *) exit 0 ;; esac
    done </proc/net/ipv6_route
    exit 1
)

# Only names, without those that shells set themselves.
variables() {
    env | sed -n 's/^\([A-Za-z_][A-Za-z0-9_]*\)=.*/\1/p' | grep -v -x -e _ -e PWD -e OLDPWD -e SHLVL
}

count() {
    wc -l | tr -d ' '
}

all=$(variables | count)
secret=$(variables | grep -i -e KEY -e TOKEN -e SECRET -e PASSW -e CREDENTIAL -e AUTH | count)

say 'who it is' "$(id -un 2>/dev/null || echo unknown) ($(id -u))"
say 'where it works' "$(pwd)"
try 'write there' can_write .
try 'write to the skill' can_write "$skill"
try 'read a home' can_read_a_home
try 'read /etc/shadow' can_read /etc/shadow
try 'see other processes' can_see_processes
try 'see a network' can_see_a_network
say 'variables' "$all, of which $secret look like secrets"
exit 0
