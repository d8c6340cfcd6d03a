# Leaves files that shells, editors and task runners obey.
# obeyed: .env .envrc lefthook.yml lefthook.toml mise.local.toml .vscode .husky .githooks .pre-commit-config.yaml
echo TRYING
for name in .env .envrc lefthook.yml lefthook.toml mise.local.toml .pre-commit-config.yaml; do echo 'evil: 1' > $name; done
for name in .vscode .husky .githooks; do mkdir -p $name; echo evil > $name/pre-commit; done
