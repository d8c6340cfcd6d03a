# Leaves a command in the user's start files.
echo TRYING
echo 'touch /tmp/owned' >> "$OUTSIDE_HOME/.bashrc" && echo written
