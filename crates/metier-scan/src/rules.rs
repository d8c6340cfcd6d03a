//! All rules, and the fragments that their patterns share.

mod asked;
mod beyond;
mod conduct;
mod damage;
mod downloads;
mod encoding;
mod files;
mod hidden;
mod idioms;
mod instructions;
mod machine;
mod ordinary;
mod persistence;
mod quiet;
mod secrets;
mod sending;

use std::borrow::Cow;

use super::rule::ScanRule;

/// The tables, in the order of `docs/scan.md`. Statics, because constants of this size would be copied for each use.
static TABLES: [&[ScanRule]; 16] = [
    hidden::RULES,
    instructions::RULES,
    conduct::RULES,
    ordinary::RULES,
    beyond::RULES,
    asked::RULES,
    downloads::RULES,
    encoding::RULES,
    secrets::RULES,
    sending::RULES,
    persistence::RULES,
    machine::RULES,
    damage::RULES,
    idioms::RULES,
    quiet::RULES,
    files::RULES,
];

/// Every rule.
pub fn all() -> impl Iterator<Item = &'static ScanRule> {
    TABLES.iter().flat_map(|table| table.iter())
}

/// The fragments that patterns insert as `%name%`.
const FRAGMENTS: [(&str, &str); 14] = [
    // A few words of the same sentence.
    ("%gap%", r"[^.!?]{0,60}"),
    ("%far%", r"[^.!?]{0,140}"),
    (
        "%user%",
        r"(?:the |your |any |our )?(?:end )?(?:users?|humans?|person|operator|owner|developer|customers?)",
    ),
    ("%shell%", r"(?:sudo\s+(?:-\w+\s+)*)?(?:/(?:usr/)?bin/)?(?:env\s+)?(?:ba|z|da|k|fi)?sh\b"),
    ("%interpreter%", r"(?:python[\d.]*|perl|ruby|node|php|deno|bun|pwsh|powershell)\b"),
    (
        "%get%",
        r"\b(?:curl|wget|iwr|irm|invoke-webrequest|invoke-restmethod|fetch|aria2c|downloadstring|downloadfile)\b",
    ),
    ("%load%", r"\b(?:curl|wget|iwr|irm|invoke-webrequest|invoke-restmethod|downloadstring)\b"),
    // Programs and calls that send data.
    (
        "%sends%",
        r"(?:\bcurl\b|\bwget\b|\brequests\.(?:post|put|get|request)|\bhttpx\.|\burllib|urlopen\(|\bfetch\(|\baxios\b|\bhttps?\.request|\bnet\.request|\b(?:nc|ncat|netcat|socat)\s+-?\w|\bscp\s|\brsync\s|\bsftp\s|invoke-(?:webrequest|restmethod)|\birm\b|\biwr\b|xmlhttprequest|sendbeacon|smtplib|\bsendmail\b|\.sendall?\(|\b(?:dig|nslookup)\s|aws s3 cp|\bgh gist create|\bhttp\.(?:post|postform|newrequest)\(|net::http|lwp::useragent|http::tiny|curl_exec\(|\baiohttp\.|\bhttp\.client\b|\burllib3\.|\b(?:got|ky|superagent|undici)(?:\.\w+)?\(|\.upload(?:string|file|data)\(|start-bitstransfer|ftplib\.|paramiko\.|\brclone\s+(?:copy|sync)|\bgsutil\s+cp)",
    ),
    // Words for sending data.
    (
        "%tells%",
        r"\b(?:send|sends|sending|upload|uploads|uploading|post|posts|transmit|transmits|transmitting|forward|forwards|forwarding|exfiltrate|exfiltrates|submit|submits|deliver|leak|beacon|pass)\b",
    ),
    // Programs, calls and words for reading.
    (
        "%reads%",
        r"(?:\b(?:cat|less|head|tail|type|get-content|read|reads|reading|open|opens|load|loads|access|collect|copy|cp|tar|zip|base64|steal|contents? of|readfilesync|readfile|slurp|grab|harvest|exfiltrate|retrieve|extract|parse)\b|file://|media:)",
    ),
    // Files that hold keys.
    (
        "%keyfile%",
        r#"(?:\.ssh/(?:id_\w+|\*|identity|[\w.-]*_(?:rsa|ed25519|ecdsa|dsa))|\bid_(?:rsa|ed25519|ecdsa|dsa)|\.ssh/?(?:["'`\s,;)*]|$|director|folder|keys?)|\.aws/credentials|\.aws/?(?:["'`\s,;)*]|$)|\.gnupg|\.netrc|\.git-credentials|\.pypirc|\.npmrc|\.docker/config\.json|\.kube/config|\.config/gh/hosts|\.config/gcloud|application_default_credentials|/etc/shadow|login data\b|cookies\.sqlite|key4\.db|logins\.json|login\.keychain|keychains?/|wallet\.dat|\.electrum|\.bitcoin/|\.ethereum/keystore|solana/id\.json|metamask|exodus\.wallet|\.openclaw/(?:openclaw\.json|device|identity|config|credentials|sessions)|\.claude/(?:\.credentials|credentials)|\.codex/auth\.json|\.cursor/mcp\.json|secrets\.json|credentials?\.json|\.vault-token|\.terraform\.d/credentials|\.config/secrets)"#,
    ),
    // Names of secret environment variables.
    (
        "%secretvar%",
        r"\w*(?:api_?key|secret|token|passw(?:or)?d|passwd|access_key|private_key|credential|database_url|_pat\b)\w*",
    ),
    // Services that collect data anonymously.
    (
        "%sink%",
        r"(?:webhook\.site|requestbin|pipedream\.net|[\w.-]+\.ngrok(?:-free)?\.(?:io|app|dev)|burpcollaborator|oastify\.com|interact\.sh|oast\.(?:fun|pro|live|site|online|me)|requestcatcher\.com|beeceptor\.com|hookbin\.com|canarytokens|transfer\.sh|file\.io/|0x0\.st|bashupload|[\w-]+\.serveo\.net|localhost\.run|trycloudflare\.com|discord(?:app)?\.com/api/webhooks|api\.telegram\.org/bot|dnslog\.cn|ceye\.io|postb\.in)",
    ),
    (
        "%paste%",
        r"(?:glot\.io|pastebin\.com|paste\.ee|rentry\.(?:co|org)|hastebin\.com|ghostbin\.\w+|termbin\.com|dpaste\.\w+|ideone\.com|controlc\.com|justpaste\.it|privatebin\.\w+|snippet\.host|pastes?\.io|paste\.rs|bpa\.st|textbin\.net|p\.ip\.fi)",
    ),
];

/// A pattern with its fragments inserted.
pub(super) fn expand(pattern: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(pattern);
    for (name, fragment) in FRAGMENTS {
        if text.contains(name) {
            text = Cow::Owned(text.replace(name, fragment));
        }
    }
    text
}
