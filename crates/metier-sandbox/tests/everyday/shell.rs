//! The shells, and the small programs that scripts are made of.

use crate::Language;

const BASH: Language = Language { program: "/bin/bash", option: "-c" };
const DASH: Language = Language { program: "/bin/dash", option: "-c" };
const PERL: Language = Language { program: "/usr/bin/perl", option: "-e" };
const AWK: Language = Language { program: "/usr/bin/awk", option: "--" };

rows! { BASH:
    pipes: "set -o pipefail; printf '3\\n1\\n2\\n' | sort | head -2 | tr '\\n' ' '; echo ${PIPESTATUS[1]}"
        => "1 2 0";
    process_substitution: "diff <(printf 'a\\nb\\n') <(printf 'a\\nc\\n'); echo x > >(cat >copy); \
        wait $!; cat copy"
        => "2c2\n< b\n---\n> c\nx";
    here_documents: "cat <<END\n$((1 + 1))\nEND\ncat <<<'here string'; cat <<'END' >file\n$literal\nEND\ncat file"
        => "2\nhere string\n$literal";
    here_document_longer_than_a_pipe: "wc -c <<<\"$(head -c 200000 /dev/zero | tr '\\0' x)\"" => "200001";
    temporary_names: "a=$(mktemp) b=$(mktemp -d) c=$(mktemp -p .); [ -w $a -a -w $b -a -w $c ]; echo $? ${a%/*}"
        => "0 /tmp";
    background_jobs: "for n in 1 2 3; do (exit $n) & jobs+=($!); done; for job in ${jobs[@]}; do wait $job; \
        echo -n \"$? \"; done"
        => "1 2 3";
    trap: "trap 'echo bye' EXIT; trap 'echo term' TERM; kill $$; echo on" => "term\non\nbye";
    arrays: "declare -A map=([a]=1 [b]=2); list=(x 'y z'); echo ${#list[@]} \"${list[1]}\" ${map[b]}" => "2 y z 2";
    errexit: "(set -e; false; echo no); echo $?" => "1";
    descriptors_by_name: "exec 5<<<five; cat /dev/fd/5; echo out >/dev/stdout; echo none 2>/dev/null >&2"
        => "five\nout";
    globs: "touch a.txt b.txt 'c d.txt' .hidden; echo *.txt; shopt -s extglob globstar\n\
        echo !(a*|b*); mkdir -p d/e; \
        touch d/e/f; echo **/f"
        => "a.txt b.txt c d.txt\nc d.txt\nd/e/f";
    find_and_xargs: "mkdir -p a/b; touch a/1 'a/b/2 3'; \
        find a -type f -print0 | sort -z | xargs -0 -n1 -P2 basename | sort; \
        find a -name 1 -delete -o -name '2*' -exec wc -c {} +"
        => "1\n2 3\n0 a/b/2 3";
    tar_and_gzip: "mkdir in out; echo text >in/file; ln -s file in/link; tar czf a.tgz in; tar xzf a.tgz -C out; \
        cat out/in/link; echo packed | gzip | gunzip; echo x | xz | xzcat"
        => "text\npacked\nx";
    text: "printf 'b 2\\na 1\\n' >f; sed -i 's/a/c/' f; sort f; grep -c . f; awk '{s += $2} END {print s}' f; \
        cut -d' ' -f2 f; paste -sd, f; uniq f | wc -l; comm -12 <(sort f) <(sort f) | head -1"
        => "b 2\nc 1\n2\n3\n2\n1\nb 2,c 1\n2\nb 2";
    own_limits: "ulimit -a >/dev/null; echo $?; ulimit -c; ulimit -n" => "0\n0\n1024";
    dates: "date -u -d @0 +%F; TZ=Europe/Berlin date -d @0 +%H; [ $(date +%s) -gt 0 ]" => "1970-01-01\n01";
    null: "echo gone >/dev/null; echo gone >>/dev/null; cat /dev/null; head -c3 /dev/zero | wc -c" => "3";
    killing_a_child: "sleep 60 & kill $!; wait $!; echo $?; sleep 60 & kill -9 $!; wait $! 2>/dev/null; echo $?"
        => "143\n137";
    killing_a_group: "set -m; (sleep 60; true) & kill -- -$!; wait $! 2>/dev/null; echo $?" => "143";
    time_limit: "timeout 0.1 sleep 60; echo $?; timeout 60 sh -c 'exit 3'; echo $?" => "124\n3";
    pipe_that_is_closed: "yes | head -1; seq 100000 | head -1" => "y\n1";
    coprocess: "coproc cat; echo asked >&${COPROC[1]}; read -r answer <&${COPROC[0]}; echo $answer" => "asked";
    named_pipe: "mkfifo pipe; echo through >pipe & cat pipe" => "through";
    sockets_of_bash: "(echo > /dev/tcp/127.0.0.1/9) 2>/dev/null; echo $?" => "1";
    files: "umask 022; mkdir d; install -m 755 /dev/null d/x; stat -c '%a %U %G' d/x; touch -d @5 d/x; stat -c %Y d/x; \
        chmod 600 d/x; cp -a d e; ls e; mv e f; rm -r d f; ls; df . >/dev/null; du -s . >/dev/null; truncate -s 1M s; \
        dd if=s of=t bs=64k status=none; cmp s t; split -n 2 t; ls"
        => "755 skill skill\n5\nx\ns\nt\nxaa\nxab";
    scripts_in_the_work_directory: "printf '#!/bin/sh\\necho \"ran $1\"\\n' >script; chmod +x script; ./script here; \
        printf '#!/usr/bin/env bash\\necho $BASH\\n' >/tmp/other; chmod +x /tmp/other; /tmp/other"
        => "ran here\n/usr/bin/bash";
    who: "id -u; id -un; whoami; hostname; echo ~ $HOME; uname -s; nproc >/dev/null; ps -o comm= -p $$; :"
        => "1000\nskill\nskill\nsandbox.invalid\n/tmp /tmp\nLinux\nbash";
    checksums: "printf '' | sha256sum | cut -c1-8; printf '' | md5sum | cut -c1-8; echo hi | base64; \
        printf hi | od -An -tx1"
        => "e3b0c442\nd41d8cd9\naGkK\n 68 69";
}

rows! { DASH:
    dash: "set -eu; x=$(printf %s \"a b\"); case $x in 'a b') echo \"$x\" | (read -r y; echo \"got $y\");; esac; wait"
        => "got a b";
}

rows! { PERL:
    perl: r#"use strict; use POSIX; use File::Temp qw(tempfile); use IO::Socket::INET;
my ($file, $name) = tempfile(UNLINK => 1); print $file "x"; close $file; print -s $name, "\n";
my $server = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1") or die; my $port = $server->sockport;
if (!fork) { print { IO::Socket::INET->new("127.0.0.1:$port") } "hello\n"; exit 0 }
print $server->accept->getline; wait; print `echo sub`, (getpwuid($<))[0], "\n""# => "1\nhello\nsub\nskill";
}

rows! { AWK:
    awk: r#"
BEGIN { "echo 6" | getline six; print six * 7 | "cat"; close("cat"); print ENVIRON["USER"] > "/dev/stdout" }
"# => "42\nskill";
}

refused! { BASH:
    becoming_root: "su -c id 2>&1 >/dev/null | grep -q . ; unshare -U true || exit 1" => "unshare failed";
    looking_at_the_kernel: "cat /proc/kcore /proc/kmsg /proc/sys/kernel/hostname" => "No such file";
    writing_to_the_system: "touch /usr/file" => "Read-only file system";
    changing_its_settings: "echo x >>/etc/hosts" => "/etc/hosts: ";
    set_user_id: "touch f; chmod u+s f" => "Operation not permitted";
    devices: "mknod d c 1 3" => "Operation not permitted";
}
