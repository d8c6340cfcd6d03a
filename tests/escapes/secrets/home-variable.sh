# Reads credentials where HOME says that home is.
echo TRYING
cat "$HOME/.aws/credentials"
