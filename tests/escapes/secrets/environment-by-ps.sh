# Lets ps show the environment of whoever started this.
# control: needs ps
echo TRYING
ps eww -p "$PPID"
