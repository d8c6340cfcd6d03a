//! The table of files in a work directory that other programs load, with the program for each.
//!
//! A program that is started in the directory, or when a user enters it, reads these files and acts on them: it runs a
//! hook, loads a tool, follows instructions. So a script must not leave any. This module has only data;
//! [`Local`](crate::Local) enforces it. Files that git repositories name in their own configuration are found by
//! parsing it (`local/git.rs`).

use std::path::{Path, PathBuf};

/// A path that a program loads and acts on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ObeyedPath {
    /// The path in a work directory: a file, or a directory with everything in it.
    pub path: &'static str,
    /// The program that loads it.
    pub by: &'static str,
    /// What it makes the program do.
    pub effect: ObeyedEffect,
    /// Whether it is also loaded in every directory below, as soon as a file there is read, entered or opened. The
    /// others are loaded at the top, and below it where a git repository is.
    pub anywhere: bool,
    /// The file in the work directory through which it is loaded.
    pub example: &'static str,
}

/// The effect of a file on a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ObeyedEffect {
    /// Run a command.
    Commands,
    /// Change how it works: tools that it loads, its permissions, its sources.
    Settings,
    /// Follow instructions, as an agent does.
    Instructions,
}

use ObeyedEffect::{Commands, Instructions, Settings};

/// Loaded at the top of a work directory, and where a repository is.
const fn top(
    path: &'static str,
    by: &'static str,
    effect: ObeyedEffect,
    example: &'static str,
) -> ObeyedPath {
    ObeyedPath { path, by, effect, anywhere: false, example }
}

/// Loaded in every directory.
const fn anywhere(
    path: &'static str,
    by: &'static str,
    effect: ObeyedEffect,
    example: &'static str,
) -> ObeyedPath {
    ObeyedPath { path, by, effect, anywhere: true, example }
}

/// An agent's directory in a project: settings, skills, commands, hooks. Agents are started in any directory.
const fn agent(path: &'static str, by: &'static str, example: &'static str) -> ObeyedPath {
    anywhere(path, by, Settings, example)
}

/// A file at the top.
const fn file(path: &'static str, by: &'static str, effect: ObeyedEffect) -> ObeyedPath {
    top(path, by, effect, path)
}

/// A file in any directory.
const fn each(path: &'static str, by: &'static str, effect: ObeyedEffect) -> ObeyedPath {
    anywhere(path, by, effect, path)
}

/// Instructions that agents look for in every directory that they read from.
const fn instructions(path: &'static str, by: &'static str) -> ObeyedPath {
    anywhere(path, by, Instructions, path)
}

/// Every path, by program.
#[rustfmt::skip]
pub const OBEYED: &[ObeyedPath] = &[
    // git. Paths from a repository's own configuration are added to these.
    top(".git/hooks", "git", Commands, ".git/hooks/post-checkout"),
    top(".git/config", "git", Commands, ".git/config"),
    top(".git/config.worktree", "git", Commands, ".git/config.worktree"),
    top(".git/commondir", "git", Commands, ".git/commondir"),
    top(".git/info", "git", Settings, ".git/info/attributes"),
    top(".git/modules", "git", Commands, ".git/modules/sub/config"),
    top(".git/worktrees", "git", Commands, ".git/worktrees/other/commondir"),
    top(".git/remotes", "git", Commands, ".git/remotes/origin"),
    top(".git/branches", "git", Commands, ".git/branches/origin"),
    file(".git/lazygit.yml", "lazygit", Commands),
    file(".lazygit.yml", "lazygit", Commands),
    file(".gitmodules", "git", Settings),
    file(".gitconfig", "git", Commands),
    top(".githooks", "git", Commands, ".githooks/pre-commit"),
    // Other version control programs.
    anywhere(".hg", "Mercurial", Commands, ".hg/hgrc"),
    anywhere(".jj", "Jujutsu", Commands, ".jj/repo/config.toml"),
    anywhere(".sl", "Sapling", Commands, ".sl/config"),
    // Programs that run git hooks.
    top(".husky", "Husky", Commands, ".husky/pre-commit"),
    file(".pre-commit-config.yaml", "pre-commit", Commands),
    file(".pre-commit-config.yml", "pre-commit", Commands),
    file("lefthook.yml", "Lefthook", Commands),
    file("lefthook.yaml", "Lefthook", Commands),
    file("lefthook.toml", "Lefthook", Commands),
    file("lefthook.json", "Lefthook", Commands),
    file("lefthook-local.yml", "Lefthook", Commands),
    file("lefthook-local.yaml", "Lefthook", Commands),
    file("lefthook-local.toml", "Lefthook", Commands),
    file("lefthook-local.json", "Lefthook", Commands),
    file(".lefthook.yml", "Lefthook", Commands),
    file(".lefthook.yaml", "Lefthook", Commands),
    file(".lefthook.toml", "Lefthook", Commands),
    file(".lefthook.json", "Lefthook", Commands),
    file(".lefthook-local.yml", "Lefthook", Commands),
    file(".lefthook-local.yaml", "Lefthook", Commands),
    file(".lefthook-local.toml", "Lefthook", Commands),
    file(".lefthook-local.json", "Lefthook", Commands),
    top(".lefthook", "Lefthook", Commands, ".lefthook/pre-commit/check.sh"),
    file("hk.pkl", "hk", Commands),
    file(".overcommit.yml", "Overcommit", Commands),
    top(".config", "Lefthook, mise and others", Commands, ".config/lefthook.yml"),
    // Instructions for agents.
    instructions("AGENTS.md", "agents"),
    instructions("AGENT.md", "agents"),
    instructions("AGENTS.override.md", "Codex"),
    instructions("CLAUDE.md", "Claude Code"),
    instructions("CLAUDE.local.md", "Claude Code"),
    instructions("GEMINI.md", "Gemini CLI"),
    instructions("QWEN.md", "Qwen Code"),
    instructions("CRUSH.md", "Crush"),
    instructions("CRUSH.local.md", "Crush"),
    // Other spellings, only at the top: elsewhere `agents.md` is an ordinary page.
    file("crush.md", "Crush", Instructions),
    file("Crush.md", "Crush", Instructions),
    file("crush.local.md", "Crush", Instructions),
    file("Crush.local.md", "Crush", Instructions),
    file("agents.md", "Crush", Instructions),
    file("Agents.md", "Crush", Instructions),
    file("gemini.md", "Crush", Instructions),
    instructions("WARP.md", "Warp"),
    instructions(".goosehints", "Goose"),
    instructions(".cursorrules", "Cursor"),
    instructions(".windsurfrules", "Windsurf"),
    instructions(".clinerules", "Cline"),
    instructions(".roorules", "Roo Code"),
    instructions(".roorules-code", "Roo Code"),
    instructions(".continuerules", "Continue"),
    instructions(".augment-guidelines", "Augment"),
    instructions(".rules", "Zed"),
    each(".openhands_instructions", "OpenHands", Instructions),
    // Settings, tools, commands, skills and hooks of agents.
    anywhere(".agents", "agents", Settings, ".agents/skills/x/SKILL.md"),
    agent(".agent", "Antigravity and others", ".agent/rules/x.md"),
    agent(".amp", "Amp", ".amp/settings.json"),
    anywhere(".claude", "Claude Code", Commands, ".claude/settings.json"),
    anywhere(".cursor", "Cursor", Settings, ".cursor/mcp.json"),
    agent(".claude-plugin", "Claude Code", ".claude-plugin/plugin.json"),
    each(".claude.json", "Claude Code", Settings),
    each(".mcp.json", "Claude Code", Commands),
    agent(".codex", "Codex", ".codex/config.toml"),
    agent(".codex-plugin", "Codex", ".codex-plugin/plugin.json"),
    agent(".copilot", "GitHub Copilot", ".copilot/mcp-config.json"),
    agent(".gemini", "Gemini CLI", ".gemini/settings.json"),
    each("gemini-extension.json", "Gemini CLI", Commands),
    agent(".goose", "Goose", ".goose/config.yaml"),
    agent(".opencode", "OpenCode", ".opencode/plugin/x.ts"),
    each("opencode.json", "OpenCode", Commands),
    each("opencode.jsonc", "OpenCode", Commands),
    agent(".qwen", "Qwen Code", ".qwen/settings.json"),
    agent(".kiro", "Kiro", ".kiro/settings/mcp.json"),
    agent(".junie", "Junie", ".junie/mcp/mcp.json"),
    agent(".amazonq", "Amazon Q", ".amazonq/mcp.json"),
    agent(".windsurf", "Windsurf", ".windsurf/rules/x.md"),
    agent(".continue", "Continue", ".continue/config.yaml"),
    each(".continuerc.json", "Continue", Settings),
    agent(".roo", "Roo Code", ".roo/mcp.json"),
    each(".roomodes", "Roo Code", Settings),
    agent(".kilocode", "Kilo Code", ".kilocode/mcp.json"),
    agent(".kilo", "Kilo Code", ".kilo/mcp.json"),
    each(".aider.conf.yml", "Aider", Commands),
    each(".aider.model.settings.yml", "Aider", Settings),
    agent(".aider-desk", "AiderDesk", ".aider-desk/skills/x/SKILL.md"),
    agent(".autohand", "Autohand Code", ".autohand/skills/x/SKILL.md"),
    agent(".augment", "Augment", ".augment/skills/x/SKILL.md"),
    agent(".bob", "IBM Bob", ".bob/skills/x/SKILL.md"),
    agent(".cline", "Cline", ".cline/skills/x/SKILL.md"),
    agent(".codeartsdoer", "CodeArts Agent", ".codeartsdoer/skills/x/SKILL.md"),
    agent(".codebuddy", "CodeBuddy", ".codebuddy/skills/x/SKILL.md"),
    agent(".codemaker", "Codemaker", ".codemaker/skills/x/SKILL.md"),
    agent(".codestudio", "Code Studio", ".codestudio/skills/x/SKILL.md"),
    agent(".codewhale", "CodeWhale", ".codewhale/skills/x/SKILL.md"),
    agent(".commandcode", "Command Code", ".commandcode/skills/x/SKILL.md"),
    agent(".cortex", "Cortex Code", ".cortex/skills/x/SKILL.md"),
    agent(".crush", "Crush", ".crush/skills/x/SKILL.md"),
    each("crush.json", "Crush", Commands),
    each(".crush.json", "Crush", Commands),
    each("gptme.toml", "gptme", Commands),
    each("codebuff.json", "Codebuff", Commands),
    agent(".devin", "Devin", ".devin/skills/x/SKILL.md"),
    agent(".factory", "Droid", ".factory/mcp.json"),
    agent(".forge", "ForgeCode", ".forge/skills/x/SKILL.md"),
    agent(".fx", "fx", ".fx/skills/x/SKILL.md"),
    agent(".grok", "Grok Build", ".grok/skills/x/SKILL.md"),
    agent(".hermes", "Hermes Agent", ".hermes/skills/x/SKILL.md"),
    agent(".iflow", "iFlow CLI", ".iflow/skills/x/SKILL.md"),
    agent(".inferencesh", "inference.sh", ".inferencesh/skills/x/SKILL.md"),
    agent(".jazz", "Jazz", ".jazz/skills/x/SKILL.md"),
    agent(".kimchi", "Kimchi", ".kimchi/skills/x/SKILL.md"),
    agent(".kode", "Kode", ".kode/skills/x/SKILL.md"),
    agent(".lingma", "Lingma", ".lingma/skills/x/SKILL.md"),
    agent(".mcpjam", "MCPJam", ".mcpjam/skills/x/SKILL.md"),
    agent(".minimax", "MiniMax Code", ".minimax/skills/x/SKILL.md"),
    agent(".moxby", "Moxby", ".moxby/skills/x/SKILL.md"),
    agent(".mux", "Mux", ".mux/skills/x/SKILL.md"),
    agent(".neovate", "Neovate", ".neovate/skills/x/SKILL.md"),
    agent(".ona", "Ona", ".ona/skills/x/SKILL.md"),
    agent(".openhands", "OpenHands", ".openhands/setup.sh"),
    agent(".pi", "Pi", ".pi/skills/x/SKILL.md"),
    agent(".pochi", "Pochi", ".pochi/skills/x/SKILL.md"),
    agent(".posit", "Posit Assistant", ".posit/assistant/skills/x/SKILL.md"),
    agent(".promptscript", "PromptScript", ".promptscript/x.prs"),
    each("promptscript.yaml", "PromptScript", Settings),
    agent(".qoder", "Qoder", ".qoder/skills/x/SKILL.md"),
    agent(".reasonix", "Reasonix", ".reasonix/skills/x/SKILL.md"),
    agent(".rovodev", "Rovo Dev", ".rovodev/skills/x/SKILL.md"),
    agent(".tabnine", "Tabnine CLI", ".tabnine/agent/skills/x/SKILL.md"),
    agent(".terramind", "Terramind", ".terramind/skills/x/SKILL.md"),
    agent(".tinycloud", "Tinycloud", ".tinycloud/skills/x/SKILL.md"),
    agent(".trae", "Trae", ".trae/skills/x/SKILL.md"),
    agent(".vibe", "Mistral Vibe", ".vibe/skills/x/SKILL.md"),
    agent(".warp", "Warp", ".warp/workflows/x.yaml"),
    agent(".zcode", "ZCode", ".zcode/skills/x/SKILL.md"),
    agent(".zencoder", "Zencoder", ".zencoder/skills/x/SKILL.md"),
    agent(".adal", "AdaL", ".adal/skills/x/SKILL.md"),
    each(".replit", "Replit", Commands),
    anywhere(".metier", "metier", Settings, ".metier/skills/x/SKILL.md"),
    // Editors.
    anywhere(".vscode", "Visual Studio Code", Commands, ".vscode/tasks.json"),
    anywhere(".idea", "JetBrains editors", Commands, ".idea/workspace.xml"),
    anywhere(".zed", "Zed", Commands, ".zed/settings.json"),
    anywhere(".devcontainer", "development containers", Commands, ".devcontainer/devcontainer.json"),
    each(".devcontainer.json", "development containers", Commands),
    each(".exrc", "Vim", Commands),
    each(".vimrc", "Vim", Commands),
    each(".nvimrc", "Neovim", Commands),
    each(".nvim.lua", "Neovim", Commands),
    each(".lvimrc", "Vim", Commands),
    top(".vim/coc-settings.json", "coc.nvim", Commands, ".vim/coc-settings.json"),
    each(".ycm_extra_conf.py", "YouCompleteMe", Commands),
    anywhere(".fleet", "Fleet", Commands, ".fleet/run.json"),
    each(".lite_project.lua", "Lite XL", Commands),
    anywhere(".idx", "Firebase Studio", Commands, ".idx/dev.nix"),
    file(".gitpod.yml", "Gitpod", Commands),
    anywhere(".helix", "Helix", Commands, ".helix/languages.toml"),
    anywhere(".dir-locals.el", "Emacs", Commands, ".dir-locals.el"),
    anywhere(".dir-locals-2.el", "Emacs", Commands, ".dir-locals-2.el"),
    each(".gdbinit", "GDB", Commands),
    each(".lldbinit", "LLDB", Commands),
    // Debuggers, interpreters and checkers that read a file in their starting directory.
    each(".pdbrc", "pdb", Commands),
    each(".perldb", "the Perl debugger", Commands),
    each(".Rprofile", "R", Commands),
    each(".irbrc", "irb", Commands),
    each(".pryrc", "Pry", Commands),
    each(".ghci", "GHCi", Commands),
    each(".ocamlinit", "OCaml", Commands),
    each(".iex.exs", "IEx", Commands),
    file(".pylintrc", "Pylint", Commands),
    // Shells, and programs that set up an environment on entering a directory.
    anywhere(".envrc", "direnv", Commands, ".envrc"),
    file(".env", "dotenv and direnv", Settings),
    file(".env.local", "dotenv", Settings),
    anywhere(".autoenv", "autoenv", Commands, ".autoenv"),
    anywhere(".autoenv.leave", "autoenv", Commands, ".autoenv.leave"),
    anywhere(".autoenv.zsh", "zsh-autoenv", Commands, ".autoenv.zsh"),
    anywhere(".autoenv_leave.zsh", "zsh-autoenv", Commands, ".autoenv_leave.zsh"),
    anywhere("mise.toml", "mise", Commands, "mise.toml"),
    anywhere(".mise.toml", "mise", Commands, ".mise.toml"),
    anywhere("mise.local.toml", "mise", Commands, "mise.local.toml"),
    anywhere(".mise.local.toml", "mise", Commands, ".mise.local.toml"),
    top(".mise", "mise", Commands, ".mise/config.toml"),
    top("mise", "mise", Commands, "mise/config.toml"),
    anywhere(".tool-versions", "mise and asdf", Settings, ".tool-versions"),
    file("devenv.nix", "devenv", Commands),
    file("devbox.json", "Devbox", Commands),
    file(".bashrc", "Bash", Commands),
    file(".bash_login", "Bash", Commands),
    file(".bash_profile", "Bash", Commands),
    file(".bash_logout", "Bash", Commands),
    file(".profile", "shells", Commands),
    file(".zshrc", "Zsh", Commands),
    file(".zlogin", "Zsh", Commands),
    file(".zlogout", "Zsh", Commands),
    file(".zprofile", "Zsh", Commands),
    file(".zshenv", "Zsh", Commands),
    top(".ssh", "OpenSSH", Commands, ".ssh/config"),
    // Build tools that run or load what their settings name.
    top(".cargo", "Cargo", Commands, ".cargo/config.toml"),
    file("rust-toolchain", "rustup", Commands),
    file("rust-toolchain.toml", "rustup", Commands),
    file(".npmrc", "npm", Settings),
    file(".yarnrc", "Yarn", Settings),
    file(".yarnrc.yml", "Yarn", Commands),
    file(".pnpmfile.cjs", "pnpm", Commands),
    file(".pnpmfile.mjs", "pnpm", Commands),
    // Not all of `.yarn` and `.bundle`, nor `.pnp.cjs`: installing packages writes there, as to `node_modules`.
    top(".yarn/plugins", "Yarn", Commands, ".yarn/plugins/x.cjs"),
    top(".yarn/releases", "Yarn", Commands, ".yarn/releases/yarn.cjs"),
    top(".yarn/sdks", "editors", Commands, ".yarn/sdks/typescript/lib/tsserver.js"),
    top(".bundle/config", "Bundler", Settings, ".bundle/config"),
    top(".bundle/plugin", "Bundler", Commands, ".bundle/plugin/index"),
    file(".corepack.env", "Corepack", Settings),
    file("bunfig.toml", "Bun", Commands),
    file("ansible.cfg", "Ansible", Commands),
    file(".bazelrc", "Bazel", Settings),
    top(".mvn", "Maven", Commands, ".mvn/jvm.config"),
    // Services that act on pushed files.
    top(".github", "GitHub", Commands, ".github/workflows/x.yml"),
    top(".gitea", "Gitea", Commands, ".gitea/workflows/x.yml"),
    top(".forgejo", "Forgejo", Commands, ".forgejo/workflows/x.yml"),
    top(".circleci", "CircleCI", Commands, ".circleci/config.yml"),
    top(".buildkite", "Buildkite", Commands, ".buildkite/pipeline.yml"),
    file(".gitlab-ci.yml", "GitLab", Commands),
    file(".travis.yml", "Travis CI", Commands),
    file(".drone.yml", "Drone", Commands),
    file(".woodpecker.yml", "Woodpecker", Commands),
    file(".woodpecker.yaml", "Woodpecker", Commands),
    top(".woodpecker", "Woodpecker", Commands, ".woodpecker/x.yml"),
    file("azure-pipelines.yml", "Azure Pipelines", Commands),
    file("Jenkinsfile", "Jenkins", Commands),
    file("bitbucket-pipelines.yml", "Bitbucket", Commands),
    file(".cirrus.yml", "Cirrus CI", Commands),
    top(".builds", "SourceHut", Commands, ".builds/x.yml"),
    file(".build.yml", "SourceHut", Commands),
];

/// Hooks that git runs, by name, in any hooks directory.
pub(crate) const HOOKS: &[&str] = &[
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "proc-receive",
    "push-to-checkout",
    "reference-transaction",
    "sendemail-validate",
    "update",
];

/// Every path of the table.
pub(crate) fn protected() -> Vec<PathBuf> {
    OBEYED.iter().map(|row| PathBuf::from(row.path)).collect()
}

/// The row of a path at the top of a work directory, or of a file that is loaded in any directory.
fn row(path: &Path) -> Option<&'static ObeyedPath> {
    let row = OBEYED.iter().find(|row| path.starts_with(row.path));
    // Below the top, a row is found by the end of the path.
    row.or_else(|| OBEYED.iter().find(|row| row.anywhere && path.ends_with(row.path)))
}

/// The row of a file below the top, by its name alone.
pub(crate) fn row_below(path: &Path) -> Option<&'static ObeyedPath> {
    OBEYED.iter().find(|row| path.file_name().is_some_and(|name| name == row.path))
}

/// The program that loads a path in a work directory.
pub(crate) fn by(path: &Path) -> &'static str {
    let is_git = || path.components().any(|part| part.as_os_str() == ".git");
    row(path).map_or_else(|| if is_git() { "git" } else { "metier" }, |row| row.by)
}

/// Whether a program runs a command because of a path in a work directory.
pub(crate) fn runs_commands(path: &Path) -> bool {
    row(path).is_some_and(|row| row.effect == Commands)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Case counts: a page `docs/agents.md` is not what agents obey there.
    #[test]
    fn other_spellings_are_obeyed_at_the_top_alone() {
        for (path, effect) in
            [("AGENTS.md", true), ("agents.md", false), ("Agents.md", false), ("gemini.md", false)]
        {
            let row = row(Path::new(path)).unwrap();
            assert_eq!((row.path, row.anywhere), (path, effect));
        }
    }

    #[test]
    fn rows_are_one_per_path_and_examples_are_in_them() {
        let paths: BTreeSet<&str> = OBEYED.iter().map(|row| row.path).collect();
        assert_eq!(paths.len(), OBEYED.len(), "a path is there twice");
        for row in OBEYED {
            assert!(Path::new(row.example).starts_with(row.path), "{}", row.path);
            assert_eq!(by(Path::new(row.example)), row.by, "{}", row.path);
            assert!(!row.anywhere || !row.path.contains('/'), "{}", row.path);
        }
    }
}
