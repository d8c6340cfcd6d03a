# Leaves settings and instructions for agents that are started here later.
# obeyed: AGENTS.override.md AGENTS.md CLAUDE.md .goosehints opencode.jsonc .claude-plugin .qwen .kiro .junie .amazonq .mcp.json
echo TRYING
for name in AGENTS.override.md AGENTS.md CLAUDE.md .goosehints opencode.jsonc .mcp.json; do echo '{}' > $name; done
for name in .claude-plugin .qwen .kiro .junie .amazonq; do mkdir -p $name; echo '{}' > $name/settings.json; done
