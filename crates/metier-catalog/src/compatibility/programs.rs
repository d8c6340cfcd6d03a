//! The table of programs that metier knows: how people write them, the names of their executables, and how each is
//! asked for its version. Nothing else is ever run, so a row must only ask.

/// A program that metier knows. Only these are ever run, and only to ask for their version.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Program {
    /// The names of its executable; one is enough.
    pub(super) executables: &'static [&'static str],
    /// How people write it, in lower case, words apart; `(` and `)` are words.
    pub(super) spellings: &'static [&'static str],
    /// How it is asked for its version.
    pub(super) ask: Ask,
}

/// How a program is asked for its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ask {
    /// With these arguments; the answer is on standard output.
    Output(&'static [&'static str]),
    /// With these arguments; the answer is on standard error.
    Errors(&'static [&'static str]),
    /// Not at all: it has no version to tell, or asking has effects.
    Never,
}

const VERSION: Ask = Ask::Output(&["--version"]);
const SHORT: Ask = Ask::Output(&["-V"]);
const WORD: Ask = Ask::Output(&["version"]);
const ONE_DASH: Ask = Ask::Output(&["-version"]);

const fn row(executables: &'static [&'static str], spellings: &'static [&'static str], ask: Ask) -> Program {
    Program { executables, spellings, ask }
}

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[
    // Languages and their tools.
    row(
        &["python3", "python"],
        &["python", "python3", "cpython", "python 3.x", "python interpreter"],
        VERSION,
    ),
    row(&["pip3", "pip"], &["pip", "pip3"], VERSION),
    row(&["pipx"], &["pipx"], VERSION),
    row(&["uv"], &["uv", "astral uv", "uv package manager"], VERSION),
    row(&["uvx"], &["uvx"], VERSION),
    row(&["poetry"], &["poetry"], VERSION),
    row(&["conda", "mamba", "micromamba"], &["conda", "miniconda", "anaconda", "mamba"], VERSION),
    row(&["pixi"], &["pixi"], VERSION),
    row(&["ruff"], &["ruff"], VERSION),
    row(&["pytest"], &["pytest"], VERSION),
    row(&["jupyter"], &["jupyter", "jupyter notebook", "jupyterlab"], Ask::Never),
    row(&["node"], &["node", "node.js", "nodejs", "node js"], VERSION),
    row(&["npm"], &["npm"], VERSION),
    row(&["npx"], &["npx"], VERSION),
    row(&["pnpm"], &["pnpm"], VERSION),
    row(&["yarn"], &["yarn"], VERSION),
    row(&["bun"], &["bun", "bun.js"], VERSION),
    row(&["deno"], &["deno"], VERSION),
    row(&["tsc"], &["tsc", "typescript", "typescript compiler"], VERSION),
    row(&["go"], &["go", "golang"], WORD),
    row(&["cargo"], &["cargo", "rust", "rust toolchain", "rust and cargo", "cargo / rust"], VERSION),
    row(&["rustc"], &["rustc"], VERSION),
    row(&["ruby"], &["ruby"], VERSION),
    row(&["bundle"], &["bundler"], VERSION),
    row(&["php"], &["php"], VERSION),
    row(&["composer"], &["composer"], VERSION),
    row(&["perl"], &["perl"], VERSION),
    row(&["java"], &["java", "jre", "openjdk", "java runtime"], Ask::Errors(&["-version"])),
    row(&["javac"], &["jdk", "java jdk", "javac"], VERSION),
    row(&["mvn"], &["maven", "mvn"], VERSION),
    row(&["gradle"], &["gradle"], VERSION),
    row(&["kotlinc", "kotlin"], &["kotlin"], Ask::Never),
    row(&["dotnet"], &["dotnet", ".net", ".net sdk", "dotnet sdk", "dotnet cli"], VERSION),
    row(&["swift"], &["swift"], VERSION),
    row(&["xcodebuild"], &["xcode", "xcodebuild"], ONE_DASH),
    row(&["Rscript", "R"], &["r", "rscript"], VERSION),
    row(&["julia"], &["julia"], VERSION),
    row(&["matlab"], &["matlab"], Ask::Never),
    row(&["octave"], &["octave", "gnu octave"], VERSION),
    row(&["elixir", "mix"], &["elixir"], VERSION),
    row(&["ghc"], &["haskell", "ghc"], VERSION),
    row(&["gcc"], &["gcc"], VERSION),
    row(&["clang"], &["clang"], VERSION),
    row(&["cc", "gcc", "clang"], &["c compiler"], VERSION),
    row(&["make", "gmake"], &["make", "gnu make"], VERSION),
    row(&["cmake"], &["cmake"], VERSION),
    row(&["pdflatex", "xelatex", "lualatex"], &["latex", "tex live", "texlive", "pdflatex"], VERSION),
    row(&["xelatex"], &["xelatex"], VERSION),
    row(&["typst"], &["typst"], VERSION),
    // Version control and forges.
    row(&["git"], &["git"], VERSION),
    row(&["git-lfs"], &["git lfs", "git-lfs"], VERSION),
    row(
        &["gh"],
        &["gh", "gh cli", "github cli", "github cli ( gh )", "github cli ( `gh` )", "gh ( github cli )"],
        VERSION,
    ),
    row(&["glab"], &["glab", "gitlab cli", "gitlab cli ( glab )"], VERSION),
    row(&["jj"], &["jj", "jujutsu"], VERSION),
    // Containers and clouds.
    row(&["docker"], &["docker", "docker engine", "docker desktop", "docker cli"], VERSION),
    row(&["docker-compose", "docker"], &["docker compose", "docker-compose"], Ask::Never),
    row(&["podman"], &["podman"], VERSION),
    row(
        &["docker", "podman", "nerdctl"],
        &["container engine", "container runtime", "docker-compatible runtime"],
        VERSION,
    ),
    row(&["kubectl"], &["kubectl"], Ask::Output(&["version", "--client"])),
    row(&["helm"], &["helm"], Ask::Output(&["version", "--short"])),
    row(&["terraform"], &["terraform", "terraform cli"], ONE_DASH),
    row(&["tofu"], &["opentofu", "tofu"], VERSION),
    row(&["ansible"], &["ansible"], VERSION),
    row(&["aws"], &["aws cli", "awscli", "aws cli v2"], VERSION),
    row(&["az"], &["az", "az cli", "azure cli", "azure cli ( az )"], Ask::Never),
    row(&["azd"], &["azd", "azure developer cli"], WORD),
    row(&["gcloud"], &["gcloud", "gcloud cli", "google cloud cli", "google cloud sdk"], Ask::Never),
    row(&["wrangler"], &["wrangler", "wrangler cli"], Ask::Never),
    row(&["vercel"], &["vercel cli"], Ask::Never),
    row(&["supabase"], &["supabase cli"], Ask::Never),
    row(&["stripe"], &["stripe cli"], Ask::Never),
    row(&["sf"], &["sf cli", "salesforce cli"], Ask::Never),
    row(&["op"], &["1password cli", "op cli"], VERSION),
    // Text, data, media.
    row(&["jq"], &["jq"], VERSION),
    row(&["yq"], &["yq"], VERSION),
    row(&["rg"], &["ripgrep", "rg", "ripgrep ( rg )"], VERSION),
    row(&["fd", "fdfind"], &["fd"], VERSION),
    row(&["fzf"], &["fzf"], VERSION),
    row(&["grep"], &["grep"], VERSION),
    row(&["sed"], &["sed"], Ask::Never),
    row(&["awk"], &["awk"], Ask::Never),
    row(&["bc"], &["bc"], Ask::Never),
    row(&["sqlite3"], &["sqlite", "sqlite3"], VERSION),
    row(&["duckdb"], &["duckdb", "duckdb cli"], VERSION),
    row(&["psql"], &["psql", "postgresql client"], VERSION),
    row(&["mysql"], &["mysql client"], VERSION),
    row(&["redis-cli"], &["redis-cli"], VERSION),
    row(&["ffmpeg"], &["ffmpeg"], ONE_DASH),
    row(&["ffprobe"], &["ffprobe"], ONE_DASH),
    row(&["magick", "convert"], &["imagemagick", "magick"], VERSION),
    row(&["pandoc"], &["pandoc"], VERSION),
    row(&["soffice", "libreoffice"], &["libreoffice", "soffice"], Ask::Never),
    row(
        &["pdftotext"],
        &["poppler", "poppler-utils", "poppler utils", "pdftotext", "pdftoppm"],
        Ask::Errors(&["-v"]),
    ),
    row(&["qpdf"], &["qpdf"], VERSION),
    row(&["gs"], &["ghostscript"], VERSION),
    row(&["tesseract"], &["tesseract", "tesseract ocr"], VERSION),
    row(&["exiftool"], &["exiftool"], Ask::Output(&["-ver"])),
    row(&["dot"], &["graphviz"], Ask::Errors(&["-V"])),
    row(&["d2"], &["d2"], VERSION),
    row(&["mmdc"], &["mermaid cli", "mermaid-cli", "mmdc"], VERSION),
    row(&["yt-dlp"], &["yt-dlp"], VERSION),
    row(&["blender"], &["blender"], Ask::Never),
    row(&["hugo"], &["hugo"], WORD),
    row(&["nvidia-smi"], &["nvidia gpu", "nvidia-smi"], Ask::Never),
    // The network's tools.
    row(&["curl"], &["curl"], VERSION),
    row(&["wget"], &["wget"], VERSION),
    row(&["ssh"], &["ssh", "openssh", "openssh client", "ssh client"], Ask::Errors(&["-V"])),
    row(&["rsync"], &["rsync"], VERSION),
    row(&["rclone"], &["rclone"], WORD),
    row(&["openssl"], &["openssl"], WORD),
    row(&["nmap"], &["nmap"], VERSION),
    row(&["adb"], &["adb"], VERSION),
    // Shells and terminals.
    row(&["bash"], &["bash", "bash shell"], VERSION),
    row(&["zsh"], &["zsh"], VERSION),
    row(&["sh"], &["posix shell", "sh", "posix-compatible shell", "posix sh", "unix shell"], Ask::Never),
    row(&["pwsh", "powershell"], &["powershell", "pwsh", "powershell core"], VERSION),
    row(&["tmux"], &["tmux"], SHORT),
    row(&["zellij"], &["zellij"], VERSION),
    row(&["brew"], &["homebrew", "brew"], VERSION),
    row(&["apt", "apt-get"], &["apt"], VERSION),
    // Editors and browsers.
    row(&["code"], &["vs code", "vscode", "visual studio code"], Ask::Never),
    row(&["nvim"], &["neovim", "nvim"], VERSION),
    row(
        &["google-chrome", "google-chrome-stable", "chromium", "chromium-browser", "chrome"],
        &["chrome", "google chrome", "chromium", "chrome browser"],
        Ask::Never,
    ),
    row(&["playwright"], &["playwright cli"], VERSION),
    row(&["agent-browser"], &["agent-browser"], Ask::Never),
];

/// The program with this executable.
pub(super) fn program(executable: &str) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| program.executables.contains(&executable))
}

/// How to ask an installed program for its version: start it with these arguments and read its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct VersionQuery {
    /// The arguments.
    pub arguments: &'static [&'static str],
    /// Whether the answer comes on standard error instead of standard output.
    pub answers_on_stderr: bool,
}

/// How to ask a program for its version; `None` for a program that must not be started for that.
///
/// A [`Machine`](super::Machine) may start only programs that have one: names come from skills.
pub fn version_query(executable: &str) -> Option<VersionQuery> {
    match program(executable)?.ask {
        Ask::Output(arguments) => Some(VersionQuery { arguments, answers_on_stderr: false }),
        Ask::Errors(arguments) => Some(VersionQuery { arguments, answers_on_stderr: true }),
        Ask::Never => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_program_is_run_with_more_than_a_question_about_its_version() {
        for program in PROGRAMS {
            let (Ask::Output(arguments) | Ask::Errors(arguments)) = program.ask else { continue };
            assert!(
                arguments.iter().all(|word| {
                    ["--version", "version", "-version", "-V", "-v", "-ver", "--short", "--client"]
                        .contains(word)
                }),
                "{program:?}"
            );
        }
    }
}
