# Goes through a link to a directory that lay in the work directory before the start.
echo TRYING
cat planted-up/secret.txt
