# Makes a new repository below whose settings include others that run a command.
# control: needs git
# git: sub
echo TRYING
mkdir -p sub/.git/objects sub/.git/refs; echo 'ref: refs/heads/main' > sub/.git/HEAD
printf '[include]\n\tpath = ../../readme.gitconfig\n' > sub/.git/config
printf '[core]\n\tfsmonitor = touch %s\n' "$OUTSIDE_DIRECTORY/outside/obeyed" > readme.gitconfig
