# Follows a link that lay in the work directory before the start.
echo TRYING
cat planted-link
