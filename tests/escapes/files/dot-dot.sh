# Climbs out of the work directory.
echo TRYING
cat ../secret.txt
