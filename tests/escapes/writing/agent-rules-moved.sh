# Moves the project's rules for agents away.
echo TRYING
mv .agents agents-old && echo moved
