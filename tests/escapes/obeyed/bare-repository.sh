# Makes the work directory a bare repository whose settings run a command.
# control: needs git
# git: .
echo TRYING
mkdir -p objects refs; echo 'ref: refs/heads/main' > HEAD
printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = touch %s\n' "$OUTSIDE_DIRECTORY/outside/obeyed" > config
