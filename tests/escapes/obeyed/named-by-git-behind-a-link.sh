# Makes the hooks that the repository's own settings name, behind a new link.
# obeyed: tools/hooks
echo TRYING
mkdir -p t2/hooks; printf '#!/bin/sh\nevil\n' > t2/hooks/pre-commit; chmod +x t2/hooks/pre-commit
mv tools x 2>/dev/null; ln -s t2 tools
