# Makes a directory below a bare repository whose settings run a command.
# control: needs git
# git: sub
echo TRYING
mkdir -p sub/objects sub/refs; echo 'ref: refs/heads/main' > sub/HEAD
printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = touch %s\n' "$OUTSIDE_DIRECTORY/outside/obeyed" > sub/config
