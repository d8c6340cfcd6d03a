//! What commands reach: by links, after `cd`, in code for others, and in long lines.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use metier_policy::{Allowlist, Anchors, Denylist, Policy, ToolCall, Verdict};
use metier_skill::ToolRules;
use serde_json::{Value, json};

fn places() -> Anchors {
    Anchors::new("/repo", "/me")
}

fn allows(rules: &str, call: &ToolCall) -> bool {
    Allowlist::new(&ToolRules::split(rules), &places()).find(call).is_ok()
}

fn denies(rules: &str, call: &ToolCall) -> bool {
    Denylist::new(&ToolRules::split(rules), &places()).find(call).is_some()
}

fn shell(input: impl Into<Value>) -> ToolCall {
    ToolCall::new("Bash", input)
}

/// The call on a machine with these links.
fn on(links: &[(&str, &str)], input: impl Into<Value>) -> ToolCall {
    let call = shell(input);
    call.shell_paths(&places()).into_iter().fold(call, |call, path| {
        let real = leads_to(&path, links);
        if real == path { call } else { call.following(path, Some(real)) }
    })
}

/// Where a path leads, part by part as a kernel follows it.
fn leads_to(path: &Path, links: &[(&str, &str)]) -> PathBuf {
    let parts = |path: &Path| -> Vec<String> {
        path.iter().skip(1).map(|part| part.to_str().unwrap().to_owned()).collect()
    };
    let mut open = VecDeque::from(parts(path));
    let mut real = PathBuf::from("/");
    while let Some(part) = open.pop_front() {
        if part == ".." {
            real.pop();
            continue;
        }
        real.push(&part);
        if let Some((_, target)) = links.iter().find(|(link, _)| Path::new(link) == real) {
            real = PathBuf::from("/");
            parts(Path::new(target)).into_iter().rev().for_each(|part| open.push_front(part));
        }
    }
    real
}

/// Many words, each of which may be a file.
fn words(many: usize) -> String {
    (0..many).map(|at| format!("a{at}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn links_are_followed_in_lines_of_many_words() {
    let links = &[("/repo/out/x", "/me/.bashrc"), ("/repo/zz", "/me"), ("/repo/keys", "/me/.ssh")];
    for many in [3, 300, 1500] {
        let words = words(many);
        let line = format!("echo {words} > out/x");
        assert!(allows("Bash(echo *) Edit(out/**)", &on(&[], line.as_str())), "{many}");
        assert!(!allows("Bash(echo *) Edit(out/**)", &on(links, line)), "{many}");
        let line = format!("cd zz && npm test {words}");
        assert!(allows("Bash(npm test *)", &on(&[], line.as_str())), "{many}");
        assert!(!allows("Bash(npm test *)", &on(links, line)), "{many}");
        let there = json!({ "command": format!("npm test {words}"), "workdir": "zz" });
        assert!(!allows("Bash(npm test *)", &on(links, there)), "{many}");
        let line = format!("cat {words} keys/id");
        assert!(denies("Read(~/.ssh/**)", &on(links, line)), "{many}");
    }
    // So many that not all are looked up: what was not may lead anywhere.
    let line = format!("cat {} zz", (0..4000).map(|_| "x").collect::<Vec<_>>().join(" "));
    assert!(denies("Read(~/.ssh/**)", &on(&[], line)));
    assert!(!denies("Read(~/.ssh/**)", &on(&[], format!("cat {}", words(900)))));
    // One that is written is not one that is read.
    assert!(!denies("Edit(~/.ssh/**)", &on(&[], format!("cat {}", words(1500)))));
}

#[test]
fn a_way_up_after_a_link_leads_up_from_where_the_link_leads() {
    let links = &[("/repo/out/link", "/me/sub"), ("/repo/zz", "/me"), ("/repo/out/in", "/repo/out/deep/er")];
    let write = |line: &str| allows("Bash(echo *) Edit(out/**)", &on(links, line));
    assert!(write("echo y > out/a") && write("echo y > out/b/../a") && write("echo y > out/in/../a"));
    assert!(!write("echo y > out/link/../.bashrc") && !write("echo y >> ./out/./link//../.bashrc"));
    let at = |directory: &str| {
        let input = json!({ "command": "git log", "workdir": directory });
        allows("Bash(git log *)", &on(links, input))
    };
    assert!(at(".") && at("/repo") && at("sub/.."));
    assert!(!at("zz/..") && !at("/repo/out/link/../..") && !at("zz"));
    let npm = |directory: &str| {
        let input = json!({ "command": "npm test", "workdir": directory });
        allows("Bash(npm test *)", &on(links, input))
    };
    assert!(npm("sub") && npm("sub/../other") && !npm("zz/../other") && !npm("sub/../.."));
    assert!(denies("Edit(~/.bashrc)", &on(links, "echo y > out/link/../.bashrc")));
    assert!(denies("Read(~/.ssh/**)", &on(links, "cat out/link/../.ssh/id")));
}

#[test]
fn rules_that_deny_follow_a_command_to_where_it_goes() {
    for (rules, line) in [
        ("Read(~/.config/gh/**)", "cd ~/.config && cat gh/hosts.yml"),
        ("Read(~/.config/gh/**)", "cd && cd .config && cat gh/hosts.yml"),
        ("Read(~/.config/gh/**)", "bash -c 'cd ~/.config && cat gh/hosts.yml'"),
        ("Read(~/.config/gh/**)", "cd ~/.config && bash -c 'cat gh/hosts.yml'"),
        ("Read(~/.config/gh/**)", "command cd ~/.config && cat gh/hosts.yml"),
        ("Read(./secrets/prod/**)", "cd secrets && cat prod/key"),
        ("Read(./secrets/prod/**)", "cd src && cd ../secrets && cat prod/key"),
        ("Read(//etc/ssl/private/**)", "cd /etc/ssl && cat private/k.pem"),
        ("Read(//etc/ssl/private/**)", "cd /etc && (cd nowhere; cd ssl && cat private/k.pem)"),
        ("Read(~/.ssh/**)", "pushd ~ && cat .ssh/id"),
        ("Read(~/.ssh/**)", "chdir ~; cat .ssh/id"),
        ("Read(~/.ssh/**)", "cd -P -- ~ && cat .ssh/id"),
        ("Edit(~/.config/gh/**)", "cd ~/.config && echo x > gh/hosts.yml"),
        // So many ways to go are not followed.
        ("Read(~/.ssh/**)", "cd a; cd b; cd c; cd d; cd e; cd f; cd g; cd h; cat x"),
        ("Edit(src/**)", "pushd src && touch a"),
    ] {
        assert!(denies(rules, &shell(line)), "{rules} lets through {line:?}");
    }
    for (rules, line) in [
        ("Read(~/.config/gh/**)", "cd sub && cat gh/hosts.yml"),
        ("Read(./secrets/prod/**)", "cd secrets && cat dev/key"),
        ("Read(//etc/ssl/private/**)", "cd /etc/ssl && cat certs/k.pem"),
        ("Read(~/.ssh/**)", "pushd sub && cat ssh/id && popd"),
        ("Edit(src/**)", "pushd src && ls && popd"),
        ("Read(~/.ssh/**)", "cd a && make && cd ../b && make && cd ../c && make x y z"),
        ("Read(~/.ssh/**)", "(cd a && npm test) && (cd b && npm test) && (cd c && npm test -- --x=y)"),
    ] {
        assert!(!denies(rules, &shell(line)), "{rules} denies {line:?}");
    }
}

#[test]
fn rules_that_deny_follow_options_that_name_a_directory() {
    for (rules, line) in [
        ("Read(~/.ssh/**)", "env -C ~ cat .ssh/id"),
        ("Read(~/.ssh/**)", "env -C~ cat .ssh/id; env -C/me cat .ssh/id"),
        ("Read(~/.ssh/**)", "env --chdir=/me cat .ssh/id"),
        ("Read(~/.ssh/**)", "env --chdi /me cat .ssh/id"),
        ("Read(~/.ssh/**)", "env -iC /me cat .ssh/id"),
        ("Read(~/.ssh/**)", "env -C / env -C me cat .ssh/id"),
        ("Read(~/.ssh/**)", "git -C ~ diff --no-index /dev/null .ssh/id"),
        ("Read(~/.ssh/**)", "git -C / -C me diff --no-index x .ssh/id"),
        ("Read(~/.ssh/**)", "git -C \"$d\" diff --no-index x .ssh/id"),
        ("Read(~/.ssh/**)", "tar -C ~ -c .ssh"),
        ("Read(~/.ssh/**)", "tar -cC /me .ssh"),
        ("Read(~/.ssh/**)", "tar cfC x.tar /me .ssh"),
        ("Read(~/.ssh/**)", "sudo -D ~ cat .ssh/id"),
        ("Read(~/.ssh/**)", "timeout 5 sudo -u x -D/me cat .ssh/id"),
        ("Read(~/.ssh/**)", "make -C ~ .ssh/x"),
        ("Read(~/.ssh/**)", "git --work-tree ~ add .ssh"),
        ("Read(~/.ssh/**)", "git --work-tree=/me add .ssh"),
        ("Read(~/.ssh/**)", "find ~/.bashrc -execdir cat .ssh/id \\;"),
        ("Read(~/.ssh/**)", "find / -maxdepth 1 -okdir cat .ssh/id \\;"),
        ("Read(~/.ssh/**)", "unshare --wd=/me cat .ssh/id"),
        ("Read(~/.ssh/**)", "pnpm -C /me exec cat .ssh/id"),
        ("Read(~/.ssh/**)", "yarn --cwd /me run x .ssh/id"),
        ("Read(~/.ssh/**)", "npm --prefix /me run x .ssh/id"),
        ("Read(~/.ssh/**)", "unheard-of --base-directory /me .ssh/id"),
        ("Read(~/.ssh/**)", "unheard-of -C /me .ssh/id"),
        ("Read(~/.ssh/**)", "env -C ~ bash -c 'cat .ssh/id'"),
        ("Read(~/.ssh/**)", "bash -c 'env -C ~ cat .ssh/id'"),
        ("Read(~/.ssh/**)", "env -C ~ cat .s*/id"),
        ("Read(./.env)", "env -C sub cat ../.env"),
        ("Read(./.env)", "git -C sub show :../.env"),
        ("Read(./.env)", "cd sub && env -C deep cat ../../.env"),
    ] {
        assert!(denies(rules, &shell(line)), "{rules} lets through {line:?}");
    }
    for (rules, line) in [
        ("Read(~/.ssh/**)", "git -C sub status"),
        ("Read(~/.ssh/**)", "git -C \"$d\" status"),
        ("Read(~/.ssh/**)", "grep -C 3 x src/y"),
        ("Read(~/.ssh/**)", "ls -C ~"),
        ("Read(~/.ssh/**)", "tar -C build -czf x.tgz ."),
        (
            "Read(~/.ssh/**)",
            "./configure --prefix=/me --bindir=/me/bin --libdir=a --mandir=b --infodir=c && make",
        ),
        ("Read(./.env)", "env -C sub cat .env.example"),
        ("Read(./.env)", "find . -execdir grep x {} +"),
    ] {
        assert!(!denies(rules, &shell(line)), "{rules} denies {line:?}");
    }
    let links = &[("/repo/zz", "/me")];
    assert!(denies("Read(~/.ssh/**)", &on(links, "env -C zz cat .ssh/id")));
}

#[test]
fn nothing_is_destroyed_in_a_directory_that_an_option_names() {
    let list = Allowlist::new(&ToolRules::split("Bash"), &places());
    let links = &[("/repo/zz", "/me"), ("/repo/top", "/")];
    for line in [
        "env -C / find -delete",
        "env -C / rm -rf etc",
        "env -C ~ rm -rf .",
        "env --chdir=/ rm -rf etc",
        "sudo -D / rm -rf etc",
        "sudo -D/ rm -rf etc",
        "bash -c 'env -C / rm -rf etc'",
        "env -C / bash -c 'rm -rf etc'",
        "env -C zz rm -rf .",
        "cd / && env -C . rm -rf etc",
        "env -C ../.. rm -rf etc",
    ] {
        assert!(list.find(&on(links, line)).is_err(), "{line}");
    }
    for line in [
        "env -C sub rm -rf build",
        "make -C sub clean && rm -rf build",
        "./configure --prefix=/usr && rm -rf lib",
        "git -C sub rm -r old",
    ] {
        assert!(list.find(&on(links, line)).is_ok(), "{line}");
    }
}

#[test]
fn nothing_is_destroyed_through_a_link_or_what_feeds_it() {
    let links = &[("/repo/zz", "/me"), ("/repo/top", "/"), ("/repo/sub/in", "/repo/build")];
    let list = Allowlist::new(&ToolRules::split("Bash"), &places());
    for line in [
        "rm -rf zz/*",
        "rm -rf zz/",
        "find zz/ -delete",
        "find -L zz -delete",
        "rm -rf top/etc",
        "chmod -R 777 zz",
        "cd sub && rm -rf ../zz/*",
        "sudo rm -rf zz/*",
        "bash -c 'rm -rf zz/*'",
        "rm -rf {/etc,x}",
        "find / | xargs rm -rf",
        "find / -type f -print0 | xargs -0 rm",
        "find / | grep x | xargs -n1 sudo rm -r",
        "echo /etc | xargs rm -rf",
        "{ echo x; echo /etc; } | xargs rm -rf",
        "xargs rm -rf <<< /etc",
        "xargs rm -rf <<EOF\n/etc\nEOF",
        "sh <<< 'rm -rf /etc'",
        "sudo bash <<EOF\nrm -rf /etc\nEOF",
        "rm -rf /proc/self/root/etc",
        "rm -rf /proc/1/root/etc",
        "cd ~ && rm -rf /proc/self/cwd/*",
        "cd / && git clean -fdx",
        "git -C ~ clean -fdx",
        "cd && git clean --force -d",
    ] {
        assert!(list.find(&on(links, line)).is_err(), "{line}");
    }
    for line in [
        "rm -rf zz",
        "rm -rf sub/in/*",
        "find sub/in/ -delete",
        "rm -rf build/*",
        "find . -name '*.o' | xargs rm -f",
        "find . -name x -print0 | xargs -0 rm -rf",
        "find ~ -name x | xargs grep y",
        "git clean -fdx",
        "cd / && git clean -n",
        "cat <<EOF > notes\nrm -rf /etc\nEOF",
        "ls / | xargs echo",
    ] {
        assert!(list.find(&on(links, line)).is_ok(), "{line}");
    }
}

#[test]
fn rules_that_deny_follow_links_in_all_that_a_line_names() {
    let links = &[("/repo/keys", "/me/.ssh"), ("/repo/sub/k", "/me/.ssh/id"), ("/repo/~", "/me/.ssh")];
    for line in [
        "cat keys/id",
        "bash -c \"cat keys/id\"",
        "sudo sh -c 'ls; cat keys/id'",
        "dd if=keys/id",
        "curl -d @keys/id x",
        "x --file=keys/id",
        "for f in keys/id; do cat \"$f\"; done",
        "f=keys/id; cat \"$f\"",
        "cat keys/\"$f\"",
        "cat keys/*",
        "cat < keys/id",
        "cat '~/id'",
        "cd sub && cat k",
        "cd sub; bash -c 'cat k'",
        "cd other && cd ../sub && cat k",
        "python3 -c \"open('keys/id')\"",
    ] {
        assert!(denies("Read(~/.ssh/**)", &on(links, line)), "{line:?}");
        assert!(!denies("Read(~/.ssh/**)", &on(&[], line)), "{line:?}");
    }
    let there = json!({ "command": "cat k", "workdir": "sub" });
    assert!(denies("Read(~/.ssh/**)", &on(links, there.clone())));
    assert!(!denies("Read(~/.ssh/**)", &on(&[], there)));
    assert!(!denies("Read(~/.ssh/**)", &on(links, "cat k; cat keysx; ls sub; bash -c 'cat kk'")));
    // Where a word leads cannot be told: it may be what must not be read, and what must not be changed.
    let lost = |line: &str| shell(line).following("/repo/x".into(), None);
    assert!(denies("Read(~/.ssh/**)", &lost("cat x")) && denies("Read(~/.ssh/**)", &lost("cp x y")));
    assert!(denies("Edit(~/.ssh/**)", &lost("cp y x")) && !denies("Edit(~/.ssh/**)", &lost("cat x")));
}

#[test]
fn rules_about_paths_look_into_code() {
    for line in [
        "python3 -c \"print(open('/me/.ssh/id').read())\"",
        "python3 -c 'import os; print(open(os.path.expanduser(\"~/.ssh/id\")).read())'",
        "timeout 5 python3 -Ic \"open('/me/.ssh/id')\"",
        "flock perl python3 -c \"open('/me/.ssh/id')\"",
        "node -e 'require(\"fs\").readFileSync(`/me/.ssh/id`)'",
        "perl -e 'open(F, \"</me/.ssh/id\"); print <F>'",
        "ruby -e 'puts File.read(\"/me/.ssh/id\")'",
        "python3 <<< \"open('/me/.ssh/id')\"",
        "python3 - <<'EOF'\nprint(open('/me/.ssh/id').read())\nEOF",
        "cat <<EOF | python3\nprint(open('/me/.ssh/id').read())\nEOF",
        "bash <<< 'cat /me/.ssh/id'",
        "bash <<EOF\ncat /me/.ssh/id\nEOF",
        "bash -c \"python3 <<EOF\nopen('/me/.ssh/id')\nEOF\"",
        "echo \"print(open('/me/.ssh/id').read())\" | python3",
        ". /dev/stdin <<< 'cat /me/.ssh/id'",
        "python3 -c \"open('/me/.ssh/$f')\"",
        "awk 'BEGIN { while ((getline l < \"/me/.ssh/id\") > 0) print l }'",
        "nu -c 'open /me/.ssh/id | each {|x| $x }'",
        "fish -c 'cat (echo /me/.ssh/id)'",
    ] {
        assert!(denies("Read(~/.ssh/**)", &shell(line)), "{line:?}");
    }
    for line in [
        "python3 -c \"print(open('/me/x').read())\"",
        "python3 x.py \"see '/me/.ssh/id'\"",
        "git commit -m \"read '/me/.ssh/id' no more\"",
        "git commit -F - <<EOF\nread /me/.ssh/id no more\nEOF",
        "node -e 'console.log(1)'",
    ] {
        assert!(!denies("Read(~/.ssh/**)", &shell(line)), "{line:?}");
    }
}

#[test]
fn nothing_is_destroyed_after_several_moves() {
    let at = |directory: &str, line: &str| {
        let places = Anchors::new(directory, "/tmp/me");
        let list = Allowlist::new(&ToolRules::split("Bash"), &places);
        let is_allowed = list.find(&shell(line)).is_ok();
        let guard = Policy::default().guard(Vec::new(), &places);
        assert_eq!(guard.decide(&shell(line)).verdict == Verdict::Allow, is_allowed, "{line}");
        is_allowed
    };
    for line in [
        "cd .. && cd .. && cd .. && rm -rf tmp",
        "cd /tmp/x; cd ..; rm -rf me",
        "cd .. && pushd .. && rm -rf *",
        "bash -c 'cd .. && cd .. && rm -rf me'",
        "cd ../.. && bash -c 'cd .. && rm -rf tmp'",
        "find / -type f -exec sh -c 'rm \"$0\"' {} \\;",
        "find / -type f -exec sh -c \"sh -c 'rm x'\" {} \\;",
        "find / -exec chmod 777 {} +",
        "find ~ -exec chown x {} +",
        "find / -exec mv {} /x \\;",
    ] {
        assert!(!at("/tmp/repo/src", line), "{line}");
    }
    for line in [
        "cd .. && cd src && rm -rf build",
        "cd a && rm -rf dist && cd ../b && rm -rf dist && cd ../c && rm -rf dist",
        "find . -exec sh -c 'rm \"$0\"' {} \\;",
        "find . -name '*.sh' -exec chmod +x {} +",
        "find / -name x -exec sh -c 'echo \"$0\"' {} \\;",
        "cd .. && cd .. && rm -rf other",
    ] {
        assert!(at("/tmp/repo/src", line), "{line}");
    }
    // A link leads home as well as its name does.
    let list = Allowlist::new(&ToolRules::split("Bash"), &places());
    assert!(list.find(&on(&[], "cd zz && rm -rf *")).is_ok());
    assert!(list.find(&on(&[("/repo/zz", "/me")], "cd zz && rm -rf *")).is_err());
}

#[test]
fn a_rule_for_cd_makes_no_other_rule_laxer() {
    let rules =
        "Bash(cd *) Bash(cat docs/*) Bash(npm test *) Bash(kubectl apply -f prod.yaml) Bash(cd docs/*)";
    for line in ["cd / && cat docs/x", "cd sub && cat docs/x", "for x in a b; do cat docs/x; cd ..; done"] {
        assert!(!allows(rules, &shell(line)), "{line}");
    }
    for line in [
        "cat docs/x",
        "cd / && npm test",
        "cd sub && npm test",
        "cd sub",
        "cd sub && kubectl apply -f prod.yaml",
    ] {
        assert!(allows(rules, &shell(line)), "{line}");
    }
    assert!(allows("Bash(cd docs/*) Bash(npm test *)", &shell("cd docs/x && npm test")));
    assert!(!allows("Bash(cd docs/*) Bash(npm test *)", &shell("cd docs/x && cd docs/y && npm test")));
}

#[test]
fn a_module_is_judged_like_the_program() {
    for (module, program) in
        [("python3 -m pip", "pip"), ("python3 -m poetry", "poetry"), ("python -m uv", "uv")]
    {
        for rest in [
            "config edit --editor ./x",
            "--python ./x list",
            "install -C a=b x",
            "install --global-option x y",
            "config get x",
            "install x",
            "install \"$x\"",
            "install .",
            "run x",
            "list",
        ] {
            let by_module = allows(&format!("Bash({module} *)"), &shell(format!("{module} {rest}")));
            let by_program = allows(&format!("Bash({program} *)"), &shell(format!("{program} {rest}")));
            assert_eq!(by_module, by_program, "{module} {rest}");
        }
        assert!(allows(&format!("Bash({module} *)"), &shell(format!("{module} install x"))));
        let whole = format!("{module} run x");
        assert!(allows(&format!("Bash({whole})"), &shell(whole.as_str())));
    }
    assert!(!allows("Bash(python3 -m pip *)", &shell("python3 -m pip config edit --editor ./x")));
    assert!(allows("Bash(python3 *)", &shell("python3 -m pip config edit --editor ./x")));
    assert!(allows("Bash(python3 -m pytest *)", &shell("python3 -m pytest -q -p x")));
    assert!(allows("Bash(python3 -m timeit *)", &shell("python3 -m timeit x")));
}

#[test]
fn every_shell_is_one() {
    for name in ["nu", "xonsh", "elvish"] {
        let rules = format!("Bash({name} *)");
        assert!(!allows(&rules, &shell(format!("{name} -c 'rm x'"))), "{name}");
        assert!(allows(&rules, &shell(format!("{name} x.{name}"))), "{name}");
        for code in ["rm x", "^rm x", "e:rm x", "![rm x]"] {
            assert!(denies("Bash(rm *)", &shell(format!("{name} -c '{code}'"))), "{name} {code}");
        }
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "how long it takes is the question")]
fn no_line_takes_long() {
    let moves = |many: usize| (0..many).map(|at| format!("cd a{at}")).collect::<Vec<_>>().join(";");
    let lines = [
        moves(1000),
        format!("{};rm -rf {}", moves(60), words(1500)),
        format!("{};{} {}", moves(30), "find ".repeat(64), words(1500)),
        format!("{};cat {}", moves(40), "../x/../y ".repeat(800)),
        "cd ..;".repeat(1600),
        format!("python3 -c '{}'", "(\"a/b\")".repeat(1200)),
        format!("find / {}", "-exec sh -c 'a b' ".repeat(500)),
        ">a ".repeat(3000),
    ];
    for line in lines {
        let call = on(&[("/repo/x", "/me")], line.as_str());
        let start = Instant::now();
        for _ in 0..2 {
            allows("Bash", &call);
            allows("Bash(rm *) Bash(cd *) Bash(cat *) Edit(**)", &call);
            denies("Read(~/.ssh/**) Edit(src/**) Read(./secrets/prod/**)", &call);
        }
        let took = start.elapsed();
        assert!(took < Duration::from_secs(2), "{took:?} for {}", &line[..60]);
    }
}
