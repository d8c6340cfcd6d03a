# Prints its own environment.
echo TRYING
env
