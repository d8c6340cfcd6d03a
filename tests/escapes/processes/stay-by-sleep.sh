# Stays behind in the background of a shell.
echo TRYING
setsid nohup sleep 8 >/dev/null 2>&1 &
sleep 0.1
echo left
