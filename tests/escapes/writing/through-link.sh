# Writes through a link that lay in the work directory before the start.
echo TRYING
echo written >> planted-outside && echo written
