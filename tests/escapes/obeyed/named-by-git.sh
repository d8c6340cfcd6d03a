# Makes the hooks and the settings that the repository's own settings name.
# obeyed: tools/hooks more.gitconfig
echo TRYING
mkdir -p tools/hooks; printf '#!/bin/sh\nevil\n' > tools/hooks/pre-commit; chmod +x tools/hooks/pre-commit
printf '[core]\n\tfsmonitor = evil\n' > more.gitconfig
