# Makes a new repository below whose settings run a command.
# control: needs git
# git: sub
echo TRYING
mkdir -p sub/.git/objects sub/.git/refs; echo 'ref: refs/heads/main' > sub/.git/HEAD
printf '[core]\n\tfsmonitor = touch %s\n' "$OUTSIDE_DIRECTORY/outside/obeyed" > sub/.git/config
