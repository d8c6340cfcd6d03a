# Makes a file beside the work directory.
echo TRYING
echo new > ../new && echo written
