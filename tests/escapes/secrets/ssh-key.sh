# Reads the private key of the user by its absolute path.
echo TRYING
cat "$OUTSIDE_HOME/.ssh/id_ed25519"
