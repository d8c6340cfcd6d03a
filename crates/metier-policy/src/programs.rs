//! Tables of programs that run other programs or code. `invocation.rs` uses them to check commands.
//!
//! The tables are formatted by hand, because one word per line would be unreadable.

use std::sync::LazyLock;

type HashMap<K, V> = std::collections::HashMap<K, V, foldhash::fast::FixedState>;

/// A program that runs the rest of its line unchanged, and changes nothing that rules check.
pub(crate) struct Wrapper {
    pub(crate) name: &'static str,
    /// Options that may come before the command.
    pub(crate) flags: &'static [&'static str],
    /// Options with a value, attached or as the next word.
    pub(crate) valued: &'static [&'static str],
    /// How many words are between the options and the command.
    pub(crate) operands: usize,
}

const fn wrapper(name: &'static str) -> Wrapper {
    Wrapper { name, flags: &[], valued: &[], operands: 0 }
}

#[rustfmt::skip]
pub(crate) const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        flags: &["--foreground", "--preserve-status", "-v", "--verbose"],
        valued: &["-k", "--kill-after", "-s", "--signal"],
        operands: 1,
        ..wrapper("timeout")
    },
    Wrapper { flags: &["-p"], ..wrapper("time") },
    Wrapper { valued: &["-n", "--adjustment"], ..wrapper("nice") },
    wrapper("nohup"),
    Wrapper { valued: &["-i", "-o", "-e", "--input", "--output", "--error"], ..wrapper("stdbuf") },
    Wrapper { flags: &["-p"], ..wrapper("command") },
    wrapper("builtin"),
    wrapper("noglob"),
    wrapper("xargs"),
];

/// Programs and builtins that run their arguments, or change what later commands mean. Only a rule with the full
/// command allows one.
#[rustfmt::skip]
pub(crate) const RUNNERS: &[&str] = &[
    // As another user, in another directory, or later
    "sudo", "doas", "su", "runuser", "setpriv", "pkexec", "ssh", "mosh", "rsh", "sshpass", "at", "batch",
    "crontab", "systemd-run", "screen", "tmux", "osascript", "wsl", "wsl.exe", "cmd", "cmd.exe",
    "powershell", "powershell.exe", "pwsh", "ansible", "socat",
    // In another environment
    "env", "watch", "setsid", "ionice", "chrt", "taskset", "numactl", "flock", "unshare", "nsenter",
    "chroot", "fakeroot", "proot", "bwrap", "firejail", "cgexec", "prlimit", "strace", "ltrace", "gdb",
    "lldb", "valgrind", "script", "expect", "unbuffer", "rlwrap", "parallel", "entr", "faketime",
    "torsocks", "tsocks", "proxychains", "proxychains4", "xvfb-run", "dbus-run-session",
    "start-stop-daemon", "daemonize", "run-parts", "busybox", "toybox", "nocorrect", "ld.so", "choom",
    "uclampset", "coreutils", "hyperfine", "nodemon", "watchexec", "ts-node", "tsx", "concurrently",
    "dotenv", "op", "aws-vault", "chamber", "doppler",
    // Code that they download
    "npx", "bunx", "pnpx", "uvx", "nix-shell",
    // Editors that run commands
    "vi", "vim", "nvim", "view", "ex", "ed", "emacs", "emacsclient",
    // Shell builtins
    "eval", "exec", "source", ".", "trap", "alias", "unalias", "set", "shopt", "enable", "hash", "declare",
    "typeset", "local", "export", "readonly", "unset", "let", "read", "mapfile", "readarray", "getopts",
    "bind", "complete", "compgen", "fc", "autoload", "zmodload", "emulate", "sched", "setopt", "functions",
    "zcompile", "print", "jobs", "rvim", "rview", "vimdiff", "ssh-agent", "ssh-keygen", "setarch",
    "linux32", "linux64", "i386", "x86_64", "logsave", "perf", "caffeinate", "xcrun", "gtime", "chpst",
    "envdir", "softlimit", "setuidgid", "groff", "troff", "m4", "gnuplot", "lftp", "ftp", "pry", "erb",
    "just", "rails", "mix", "rake", "ctest", "composer", "gxargs", "schroot", "systemd-nspawn",
    "systemd-inhibit", "dc", "history", "gosu", "cross-env", "lerna", "nx", "sg", "newgrp", "capsh", "systemd-cat",
    "run0", "su-exec", "tini", "dumb-init", "dbus-launch", "xterm", "cpulimit", "eatmydata", "fakechroot", "nsjail", "rr",
];

/// The same for subcommands.
#[rustfmt::skip]
pub(crate) const RUNNING_SUBCOMMANDS: &[(&str, &[&str])] = &[
    ("npm", &["c", "edit", "pkg", "exec", "x", "config", "set", "explore", "init", "create", "innit"]),
    ("pnpm", &["exec", "dlx", "config", "set", "create"]),
    ("yarn", &["exec", "dlx", "node", "config", "create"]),
    ("bun", &["x", "exec", "create"]),
    ("deno", &["eval", "repl", "x", "jupyter"]),
    ("uv", &["run", "tool", "x"]),
    ("pipx", &["run", "runpip"]),
    ("poetry", &["run", "config", "env"]),
    ("pipenv", &["run", "shell"]),
    ("pdm", &["run", "config"]),
    ("hatch", &["env", "test", "run", "shell"]),
    ("rye", &["run"]),
    ("pixi", &["r", "x", "run", "exec", "shell"]),
    ("conda", &["run", "config"]),
    ("mamba", &["run"]),
    ("micromamba", &["run"]),
    ("bundle", &["e", "ex", "exe", "exec", "config"]),
    ("rbenv", &["exec"]),
    ("pyenv", &["exec"]),
    ("nvm", &["exec", "run"]),
    ("fnm", &["exec"]),
    ("volta", &["run"]),
    ("asdf", &["exec"]),
    ("mise", &["exec", "x", "run", "r", "en", "watch"]),
    ("direnv", &["exec", "allow"]),
    ("devbox", &["run", "shell"]),
    ("devenv", &["shell", "tasks"]),
    ("nix", &["run", "shell", "develop"]),
    ("docker", &["exec", "run", "create", "context"]),
    ("podman", &["exec", "run", "create", "unshare", "machine"]),
    ("nerdctl", &["exec", "run", "create"]),
    ("docker-compose", &["exec", "run"]),
    ("kubectl", &["exec", "run", "debug", "attach", "config", "plugin"]),
    ("oc", &["exec", "run", "debug", "rsh"]),
    ("lxc", &["exec"]),
    ("multipass", &["exec", "shell"]),
    ("vagrant", &["ssh"]),
    ("heroku", &["run:detached", "local:run", "local", "run"]),
    ("gh", &["extensions", "ext", "cs", "alias", "extension", "codespace", "config"]),
    ("cargo", &["watch", "script"]),
    ("go", &["generate", "tool"]),
    ("rustup", &["run"]),
    ("opam", &["exec"]),
    ("stack", &["eval", "ghci", "script", "exec", "runghc"]),
    ("cabal", &["v2-exec", "new-exec", "repl", "exec"]),
    (
        "git",
        &[
            "filter-repo", "merge-index", "fast-import", "credential-store", "credential-cache", "config",
            "filter-branch", "difftool", "mergetool", "send-email", "instaweb", "hook", "credential",
            "daemon", "shell", "upload-pack", "receive-pack", "http-backend", "web--browse", "remote-ext",
            "cvsserver", "for-each-repo", "remote-fd",
        ],
    ),
    ("git submodule", &["foreach", "add"]),
    ("docker compose", &["exec", "run"]),
    ("docker container", &["exec", "run", "create"]),
    ("podman compose", &["exec", "run"]),
    ("podman container", &["exec", "run", "create"]),
    ("pip", &["config"]),
    ("helm", &["plugin"]),
    ("terraform", &["console"]),
    ("mvn", &["exec:exec", "exec:java"]),
    ("git bisect", &["visualize", "view", "run"]),
    ("openssl", &["engine"]),
    ("ip", &["vrf"]),
    ("ip netns", &["exec"]),
    ("dotnet", &["exec", "script", "tool", "fsi"]),
];

/// Options that make a program run something else or code, or read its settings from elsewhere.
#[rustfmt::skip]
pub(crate) const RUNNING_OPTIONS: &[(&str, &[&str])] = &[
    (
        "find",
        &[
            "-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls",
            "-files0-from",
        ],
    ),
    ("fd", &["-x", "-X", "--exec", "--exec-batch"]),
    ("fdfind", &["-x", "-X", "--exec", "--exec-batch"]),
    ("rg", &["--pre", "--hostname-bin"]),
    ("ag", &["--pager"]),
    ("sort", &["--compress-program", "-o", "--output"]),
    ("split", &["--filter"]),
    (
        "tar",
        &[
            "-T", "--files-from", "--to-command", "--checkpoint-action", "-I", "--use-compress-program",
            "-F", "--info-script", "--new-volume-script", "--rsh-command", "--rmt-command",
        ],
    ),
    ("bsdtar", &["--use-compress-program"]),
    ("gtar", &["--to-command", "--checkpoint-action", "-I", "--use-compress-program", "-F", "--info-script"]),
    ("zip", &["-TT", "--unzip-command"]),
    ("rsync", &["-e", "--rsh", "--rsync-path", "-M", "--remote-option"]),
    ("scp", &["-S", "-o", "-F", "-D"]),
    ("sftp", &["-S", "-o", "-F", "-D", "-b"]),
    ("curl", &["-K", "--config", "--engine"]),
    ("wget", &["-e", "--execute", "--use-askpass", "--config"]),
    ("nc", &["-e", "-c"]),
    ("ncat", &["-e", "-c", "--exec", "--sh-exec", "--lua-exec"]),
    ("tcpdump", &["-z"]),
    ("make", &["-E", "--eval", "-f", "--file", "--makefile", "-I", "--include-dir", "-C", "--directory"]),
    ("gmake", &["-E", "--eval", "-f", "--file", "--makefile", "-I", "--include-dir", "-C", "--directory"]),
    ("cmake", &["-C", "-E", "-P"]),
    ("ninja", &["-f", "-C", "-t"]),
    (
        "npm",
        &[
            "--editor", "--browser", "--git", "--viewer", "--init-module", "--script-shell", "--shell",
            "--prefix", "-C", "--node-options", "--userconfig", "--globalconfig",
        ],
    ),
    ("pnpm", &["--shell-mode", "--dir", "-C", "--script-shell"]),
    ("yarn", &["--cwd", "--use-yarnrc"]),
    ("cargo", &["--codegen", "--config", "-C", "--manifest-path"]),
    (
        "go",
        &[
            "-ldflags", "-gcflags", "-asmflags", "-gccgoflags", "-exec", "-toolexec", "-vettool", "-C",
            "-overlay",
        ],
    ),
    ("gcc", &["-Wl", "-wrapper", "-fplugin", "-B", "-specs"]),
    ("g++", &["-Wl", "-wrapper", "-fplugin", "-B", "-specs"]),
    ("cc", &["-Wl", "-wrapper", "-fplugin", "-B", "-specs"]),
    ("clang", &["-Wl", "-fplugin", "-Xclang", "-B"]),
    ("pandoc", &["-F", "--filter", "-L", "--lua-filter", "--pdf-engine", "-d", "--defaults"]),
    ("man", &["-P", "--pager", "-H", "--html", "-X", "--gxditview", "-C", "--config-file"]),
    ("less", &["--lesskey-src", "--lesskey-content", "-k", "--lesskey-file"]),
    ("install", &["--strip-program"]),
    ("test", &["-v"]),
    ("[", &["-v"]),
    ("wait", &["-p"]),
    ("pytest", &["-c", "--rootdir", "--confcutdir", "-p"]),
    ("pip", &["--python", "--editor", "--config-settings", "-C", "--global-option", "--install-option"]),
    ("gradle", &["-I", "--init-script", "-b", "--build-file", "-p", "--project-dir"]),
    ("docker", &["-H", "--host", "-c", "--context", "--config"]),
    ("podman", &["--url", "--connection", "-c", "--remote"]),
    ("kubectl", &["--kubeconfig", "--exec-command"]),
    ("sqlite3", &["-cmd", "-init"]),
    ("openssl", &["-engine", "-provider-path", "-config"]),
    ("ps2pdf", &["-dNOSAFER"]),
    ("gs", &["-dNOSAFER", "-c"]),
    (
        "git",
        &[
            "--config-file", "--export-marks", "--upload-pack", "--receive-pack", "--exec", "--extcmd",
            "--open-files-in-pager", "--ext-diff", "--template", "--separate-git-dir", "--config",
            "--git-dir", "--work-tree", "--output",
        ],
    ),
    ("git clone", &["-u", "-c"]),
    ("git rebase", &["-x"]),
    ("git grep", &["-O"]),
    ("git archive", &["-o"]),
    ("go env", &["-w", "-u"]),
    ("c++", &["-wrapper", "-fplugin", "-B", "-specs", "-Wl"]),
    ("clang++", &["-fplugin", "-Xclang", "-B", "-Wl", "-load"]),
    ("psql", &["-o", "--output", "-L"]),
    ("mysql", &["--pager", "--init-command", "--tee"]),
    ("mariadb", &["--pager", "--init-command", "--tee"]),
    ("helm", &["--post-renderer"]),
    ("ack", &["--pager"]),
    ("pdflatex", &["-shell-escape", "-enable-write18"]),
    ("xelatex", &["-shell-escape", "-enable-write18"]),
    ("lualatex", &["-shell-escape", "-enable-write18"]),
    ("latexmk", &["-e", "-r", "-pdflatex", "-shell-escape"]),
    ("docker compose", &["-f", "--file"]),
    ("gh", &["--"]),
    ("cargo rustc", &["--"]),
    ("cpio", &["--rsh-command"]),
    ("ip", &["-b", "-batch"]),
    ("deno", &["-"]),
];

/// Texts that make an argument run something, at any position in it.
#[rustfmt::skip]
pub(crate) const RUNNING_TEXTS: &[(&str, &[&str])] = &[
    ("psql", &["\\!", "\\o", "\\g", "\\copy", "\\i", "\\w", "\\e", "\\s", "`", "PROGRAM", "program", "|"]),
    ("mysql", &["\\!", "system", "\\P", "pager", "\\T"]),
    ("mariadb", &["\\!", "system", "\\P", "pager", "\\T"]),
    ("git", &["ext::"]),
    ("convert", IMAGES),
    ("magick", IMAGES),
    ("dd", &["of=/dev/"]),
    ("less", &["+"]),
    ("deno", &["data:", "http:", "https:", "npm:", "jsr:"]),
    ("cmake", &["LAUNCHER", "COMPILER", "INCLUDE", "TOOLCHAIN", "COMMAND"]),
    ("gcc", &["@"]),
    ("g++", &["@"]),
    ("cc", &["@"]),
    ("clang", &["@"]),
];

#[rustfmt::skip]
const IMAGES: &[&str] = &["msl:", "ephemeral:", "mvg:", "url:", "https:", "ftp:", "|", "@", "text:"];

/// A program that runs a file, or code that it is given.
#[derive(Debug)]
pub(crate) struct Interpreter {
    /// The name; a version may follow.
    pub(crate) name: &'static str,
    /// Letters of short options that do not affect what is run.
    pub(crate) plain: &'static str,
}

#[rustfmt::skip]
pub(crate) const INTERPRETERS: &[Interpreter] = &[
    Interpreter { name: "bash", plain: "euxvnl" }, Interpreter { name: "sh", plain: "euxvn" },
    Interpreter { name: "dash", plain: "euxvn" }, Interpreter { name: "ash", plain: "euxvn" },
    Interpreter { name: "zsh", plain: "euxvnf" }, Interpreter { name: "ksh", plain: "euxvn" },
    Interpreter { name: "mksh", plain: "euxvn" }, Interpreter { name: "fish", plain: "NP" },
    Interpreter { name: "csh", plain: "efvx" }, Interpreter { name: "tcsh", plain: "efvx" },
    Interpreter { name: "nu", plain: "n" }, Interpreter { name: "python", plain: "BbEIOPqsSuv" },
    Interpreter { name: "pypy", plain: "BbEIOPqsSuv" }, Interpreter { name: "ipython", plain: "" },
    Interpreter { name: "node", plain: "" }, Interpreter { name: "nodejs", plain: "" },
    Interpreter { name: "perl", plain: "cswtTW" }, Interpreter { name: "ruby", plain: "wvW" },
    Interpreter { name: "php", plain: "nqf" }, Interpreter { name: "lua", plain: "vE" },
    Interpreter { name: "luajit", plain: "vE" }, Interpreter { name: "Rscript", plain: "" },
    Interpreter { name: "R", plain: "" }, Interpreter { name: "julia", plain: "q" },
    Interpreter { name: "tclsh", plain: "" }, Interpreter { name: "wish", plain: "" },
    Interpreter { name: "groovy", plain: "" }, Interpreter { name: "scala", plain: "" },
    Interpreter { name: "elixir", plain: "" }, Interpreter { name: "iex", plain: "" },
    Interpreter { name: "erl", plain: "" }, Interpreter { name: "ghc", plain: "" },
    Interpreter { name: "ghci", plain: "" }, Interpreter { name: "runghc", plain: "" },
    Interpreter { name: "clojure", plain: "" }, Interpreter { name: "clj", plain: "" },
    Interpreter { name: "octave", plain: "qH" }, Interpreter { name: "guile", plain: "" },
    Interpreter { name: "racket", plain: "" }, Interpreter { name: "sbcl", plain: "" },
    Interpreter { name: "swift", plain: "" }, Interpreter { name: "irb", plain: "" },
    Interpreter { name: "jshell", plain: "" }, Interpreter { name: "bun", plain: "" },
    Interpreter { name: "deno", plain: "" }, Interpreter { name: "raku", plain: "" },
    Interpreter { name: "xonsh", plain: "" }, Interpreter { name: "elvish", plain: "" },
    Interpreter { name: "py", plain: "" },
    // For deny rules, whose names are in lower case
    Interpreter { name: "rscript", plain: "" }, Interpreter { name: "r", plain: "" },
    Interpreter { name: "rbash", plain: "euxvnl" }, Interpreter { name: "rksh", plain: "euxvn" },
    Interpreter { name: "lksh", plain: "euxvn" }, Interpreter { name: "yash", plain: "euxvn" },
    Interpreter { name: "posh", plain: "euxvn" },
];

/// The interpreters that are shells: their code is parsed and checked.
#[rustfmt::skip]
pub(crate) const SHELLS: &[&str] = &[
    "bash", "sh", "dash", "ash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "nu", "xonsh", "elvish", "rbash", "rksh",
    "lksh", "yash", "posh",
];

/// Shells with another language.
pub(crate) const OTHER_SHELLS: &[&str] = &["nu", "xonsh", "elvish"];

/// Python modules that run their arguments, with `python -m`.
#[rustfmt::skip]
pub(crate) const RUNNING_MODULES: &[&str] = &[
    "timeit", "code", "pdb", "cProfile", "profile", "trace", "runpy", "asyncio", "doctest", "idlelib",
    "IPython", "ipython", "coverage", "pipx", "pipenv", "poetry", "uv", "ensurepip", "jupyter", "sqlite3", "pickle", "pickletools", "sitecustomize", "pydoc", "venv", "zipapp",
];

/// Programs that read commands from their input, some of which run others.
#[rustfmt::skip]
pub(crate) const FED_LANGUAGES: &[&str] = &[
    "sqlite", "sqlite3", "psql", "mysql", "mariadb", "sftp", "ed", "bc", "dc", "gs", "gdb", "crontab",
    "at", "batch", "ex", "lldb", "gnuplot", "lftp", "ftp", "m4",
];

/// Those of them where every line is a command, or whose language is made to run others.
#[rustfmt::skip]
pub(crate) const FED_COMMANDS: &[&str] = &["at", "batch", "crontab", "ed", "ex", "gdb", "lldb"];

/// Programs whose arguments are programs in their own language, which can run others.
#[rustfmt::skip]
pub(crate) const CODE: &[&str] = &[
    "sed", "gsed", "ssed", "awk", "gawk", "mawk", "nawk", "original-awk", "psql", "sqlite3", "mysql", "mariadb", "vi", "vim",
    "nvim", "view", "ex", "ed", "rvim", "rview", "vimdiff", "emacs", "emacsclient", "gdb", "lldb", "socat", "expect", "m4",
    "gnuplot", "dc", "groff", "troff", "lftp", "ftp", "osascript", "tmux", "screen",
];

/// Variables with code or a command that programs run in addition to their task.
#[rustfmt::skip]
pub(crate) const CODE_VARIABLES: &[&str] = &[
    "BASH_ENV", "ENV", "PROMPT_COMMAND", "PS4", "PAGER", "GIT_PAGER", "MANPAGER", "EDITOR", "VISUAL", "GIT_EDITOR",
    "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "LESSOPEN", "PERL5OPT", "RUBYOPT", "NODE_OPTIONS",
];

/// Programs whose short options are never combined, so a letter inside a word means nothing.
#[rustfmt::skip]
pub(crate) const NO_CLUSTERS: &[&str] = &[
    "cmake", "gcc", "g++", "cc", "c++", "clang", "clang++", "gradle", "ninja", "go", "openssl", "gs",
    "kubectl", "docker", "podman", "cargo", "pandoc", "npm", "pnpm", "psql", "pip", 
    "find", "git clone", "git rebase", "git grep", "git archive", "go env", "pytest",
    "docker compose", "latexmk",
];

/// Subcommands of `git` without an option that runs something, so their arguments may be expansions.
#[rustfmt::skip]
pub(crate) const PLAIN_GIT: &[&str] = &[
    "commit", "checkout", "switch", "branch", "add", "rm", "mv", "tag", "merge", "status", "stash",
    "restore", "reset", "rev-parse", "cherry-pick", "revert",
];

/// Read-only forms of subcommands that can do more.
#[rustfmt::skip]
pub(crate) const READING_FORMS: &[(&str, &[&str])] = &[
    ("git config", &["--get", "--get-all", "--list", "-l", "get", "list"]),
    ("npm config", &["get", "list", "ls"]),
    ("npm pkg", &["get"]),
    ("pip config", &["get", "list", "debug"]),
    ("kubectl config", &["current-context", "get-contexts", "view"]),
    ("docker context", &["ls", "show"]),
    ("gh config", &["get", "list"]),
    ("gh alias", &["list"]),
    ("gh extension", &["list"]),
];

/// Package managers that run a program for any other name than these.
#[rustfmt::skip]
pub(crate) const SCRIPT_RUNNERS: &[(&str, &[&str])] =
    &[("pnpm", PACKAGES), ("yarn", PACKAGES), ("bun", PACKAGES)];

#[rustfmt::skip]
const PACKAGES: &[&str] = &[
    "install", "i", "ci", "add", "remove", "rm", "uninstall", "un", "update", "up", "upgrade", "run",
    "run-script", "test", "t", "start", "build", "list", "ls", "ll", "why", "outdated", "audit", "store",
    "link", "unlink", "ln", "import", "rebuild", "prune", "publish", "pack", "licenses", "init", "info",
    "view", "dedupe", "cache", "workspace", "workspaces", "version", "pm", "patch", "deploy", "fetch",
    "tag",
];

/// Variables of `make` that name a program, by the end of their names.
#[rustfmt::skip]
pub(crate) const PROGRAM_VARIABLES: &[&str] = &[
    "CC", "CXX", "CPP", "LD", "AR", "AS", "FC", "NM", "RM", "CP", "SHELL", "FLAGS", "MAKE", "INSTALL", "STRIP", "RANLIB", "LEX", "YACC",
    "PYTHON", "NODE", "NPM", "CARGO", "GO", "CMD", "COMMAND", "TOOL", "PROGRAM", "EXEC", "RUN", "MAKEFILES", "COMPILER", "LINKER", "EDITOR", "PAGER", "BIN",
];

/// Programs that delete or overwrite their targets, with everything below them.
#[rustfmt::skip]
pub(crate) const DESTROYERS: &[&str] = &["rm", "chmod", "chown", "chgrp", "shred", "rmdir", "unlink", "mv"];

/// Variables that cannot change which program runs or what code it loads.
#[rustfmt::skip]
pub(crate) const SAFE_VARIABLES: &[&str] = &[
    "NODE_ENV", "RAILS_ENV", "RACK_ENV", "APP_ENV", "FLASK_ENV", "DJANGO_ENV", "ENVIRONMENT", "CI",
    "DEBUG", "VERBOSE", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_COLLATE", "LC_MESSAGES",
    "LC_NUMERIC", "LC_TIME", "LC_MONETARY", "TZ", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE",
    "COLORTERM", "TERM", "COLUMNS", "LINES", "RUST_BACKTRACE", "RUST_LOG", "CARGO_TERM_COLOR",
    "CARGO_INCREMENTAL", "GOOS", "GOARCH", "CGO_ENABLED", "GO111MODULE", "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "PYTHONIOENCODING", "PYTHONUTF8", "SOURCE_DATE_EPOCH",
    "GIT_TERMINAL_PROMPT", "DEBIAN_FRONTEND", "NPM_CONFIG_LOGLEVEL", "npm_config_loglevel",
];

/// Lower-case names with a meaning for a shell or a program.
#[rustfmt::skip]
pub(crate) const SPECIAL_NAMES: &[&str] = &[
    "path", "fpath", "cdpath", "manpath", "module_path", "mailpath", "argv", "status", "prompt", "psvar",
    "aliases", "commands", "functions", "options", "watch", "http_proxy", "https_proxy", "ftp_proxy",
    "all_proxy", "no_proxy", "signals", "zle_highlight", "auto_resume", "histchars", "nameref", "fignore",
    "pipestatus",
];

/// Directories that must not be deleted or changed as a whole, nor their direct entries.
#[rustfmt::skip]
pub(crate) const SYSTEM_DIRECTORIES: &[&str] = &[
    "/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib32", "/lib64", "/media", "/mnt", "/opt",
    "/proc", "/root", "/run", "/sbin", "/srv", "/sys", "/usr", "/usr/bin", "/usr/lib", "/usr/local",
    "/usr/sbin", "/usr/share", "/var", "/var/lib", "/var/log", "/Applications", "/Library", "/System",
    "/Users", "/Volumes", "/private", "/private/etc", "/private/var",
];

/// Everything that the tables contain about one program, or one program with a subcommand.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// It is one of [`RUNNERS`].
    pub(crate) is_runner: bool,
    /// Its entries in [`RUNNING_OPTIONS`], [`RUNNING_SUBCOMMANDS`] and [`RUNNING_TEXTS`].
    pub(crate) options: &'static [&'static str],
    pub(crate) subcommands: &'static [&'static str],
    pub(crate) texts: &'static [&'static str],
    /// Its entries in [`READING_FORMS`].
    pub(crate) reads: &'static [&'static str],
    /// Its entries in [`SCRIPT_RUNNERS`].
    pub(crate) scripts: Option<&'static [&'static str]>,
    pub(crate) interpreter: Option<&'static Interpreter>,
}

static NOTHING: Known = Known {
    is_runner: false,
    options: &[],
    subcommands: &[],
    texts: &[],
    reads: &[],
    scripts: None,
    interpreter: None,
};

/// The tables indexed by name, because searching all tables for every command is too slow.
static BY_NAME: LazyLock<HashMap<&'static str, Known>> = LazyLock::new(|| {
    let mut all: HashMap<&'static str, Known> = HashMap::default();
    let mut known = |name: &'static str, set: &dyn Fn(&mut Known)| set(all.entry(name).or_default());
    for name in RUNNERS {
        known(name, &|known| known.is_runner = true);
    }
    for (name, options) in RUNNING_OPTIONS {
        known(name, &|known| known.options = options);
    }
    for (name, subcommands) in RUNNING_SUBCOMMANDS {
        known(name, &|known| known.subcommands = subcommands);
    }
    for (name, texts) in RUNNING_TEXTS {
        known(name, &|known| known.texts = texts);
    }
    for (name, reads) in READING_FORMS {
        known(name, &|known| known.reads = reads);
    }
    for (name, scripts) in SCRIPT_RUNNERS {
        known(name, &|known| known.scripts = Some(scripts));
    }
    for interpreter in INTERPRETERS {
        known(interpreter.name, &|known| known.interpreter = Some(interpreter));
    }
    all
});

/// The entry for a name, or for the name without a version: `pip3.12` is `pip`.
pub(crate) fn known(name: &str) -> &'static Known {
    let by_name = &*BY_NAME;
    by_name.get(name).or_else(|| by_name.get(family(name))).unwrap_or(&NOTHING)
}

/// The name without a version.
pub(crate) fn family(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_table_has_a_name_twice() {
        for table in [RUNNING_OPTIONS, RUNNING_SUBCOMMANDS, RUNNING_TEXTS, READING_FORMS, SCRIPT_RUNNERS] {
            let mut names: Vec<&str> = table.iter().map(|(name, _)| *name).collect();
            names.sort_unstable();
            let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
            assert_eq!(twice, None);
        }
    }
}
