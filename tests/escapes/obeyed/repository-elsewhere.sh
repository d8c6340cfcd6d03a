# Leads git from a directory below to a repository that runs a command.
# control: needs git
# git: sub
echo TRYING
mkdir -p sub hidden/objects hidden/refs; echo 'ref: refs/heads/main' > hidden/HEAD
printf '[core]\n\tfsmonitor = touch %s\n' "$OUTSIDE_DIRECTORY/outside/obeyed" > hidden/config
echo 'gitdir: ../hidden' > sub/.git
